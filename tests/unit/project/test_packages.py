"""dragstrip runs without the package of the papers, and says how to get it."""

import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from dragstrip.model import errors
from dragstrip.model.errors import absent_package

ALONE = "import sys; sys.modules['dragstrip_papers'] = None; "
MAIN = "import sys; sys.argv[0] = 'dragstrip'; from dragstrip.cli import main; main()"


def run(code: str, *argv: str, **env: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *argv],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", **env},
    )


def completed(code: str, words: str, at: int) -> "subprocess.CompletedProcess[str]":
    """The completions that bash gets for the word at this place."""
    told = {"COMP_WORDS": words, "COMP_CWORD": str(at), "_DRAGSTRIP_COMPLETE": "complete_bash"}
    return run(code, **told)


@pytest.mark.parametrize(
    "argv", [["reproduce", "cook2017", "--virtual"], ["reproduce", "--help"], ["list", "papers"]]
)
def test_what_comes_with_the_papers_says_how_to_get_them(argv):
    done = run(ALONE + MAIN, *argv)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    what = "list papers" if argv[0] == "list" else "reproduce"
    assert done.stderr.startswith(f"dragstrip: `dragstrip {what}` comes with dragstrip-papers: ")
    assert "make build" in done.stderr


@pytest.mark.parametrize(("code", "there"), [(MAIN, True), (ALONE + MAIN, False)])
def test_help_manual_and_shells_name_the_command_where_it_works(code, there):
    asked = {
        "_DRAGSTRIP_COMPLETE": "complete_bash",
        "COMP_WORDS": "dragstrip re",
        "COMP_CWORD": "1",
    }
    for done in (run(code, "--help"), run(code, "manual"), run(code, **asked)):
        assert done.returncode == 0
        assert "report" in done.stdout + done.stderr
        assert ("reproduce" in done.stdout + done.stderr) == there
    asked |= {"COMP_WORDS": "dragstrip reproduce cook", "COMP_CWORD": "2"}
    assert run(code, **asked).stdout.split() == (["cook2017"] if there else [])


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (
            {"url": "file:///x/dragstrip-0.1.0-py3-none-linux_x86_64.whl"},
            "pip install 'dragstrip-papers @ file:///x/dragstrip_papers-0.1.0-py3-none-any.whl'",
        ),
        (
            {"url": "file:///x", "dir_info": {}},
            "pip install 'dragstrip-papers @ file:///x/packages/papers'",
        ),
        ({"url": "file:///x", "dir_info": {"editable": True}}, "`make build` in /x"),
        (
            None,
            "pip install 'dragstrip-papers @ "
            "file:///PATH/OF/THE/dragstrip_papers-0.1.0-py3-none-any.whl'",
        ),
    ],
)
def test_they_come_from_where_dragstrip_came_from(monkeypatch, origin, command):
    told = origin and json.dumps(origin)
    installed = SimpleNamespace(read_text={"direct_url.json": told}.get, version="0.1.0")
    monkeypatch.setattr(errors, "distribution", {"dragstrip": installed}.get)
    said = str(absent_package("dragstrip_papers", "it"))
    assert said == f"it comes with dragstrip-papers: {command}"
