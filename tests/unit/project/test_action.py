"""The action's comment says what `compare` said; its workflow calls what exists."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest
import yaml

import made_capsule
from dragstrip.cli import exits

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def action():
    spec = importlib.util.spec_from_file_location("action_race", ROOT / "action" / "race.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def compared(folder: Path, action, factor: float) -> tuple[int, str]:
    """The exit code, and the comment."""
    times = [1000.0 + 7 * i for i in range(12)]
    made_capsule.capsule(folder / "base", {"h2": times, "h3": times})
    slower = {"h2": times, "h3": [t * factor for t in times]}
    made_capsule.capsule(folder / "change", slower)
    code = action.compare(folder, ["slower > 5%"])
    return code, action.comment((folder / "summary.md").read_text(), "https://ci.test/run/1")


def test_a_slower_stack_is_named(tmp_path, action):
    code, text = compared(tmp_path, action, 1.2)
    lines = text.splitlines()
    assert code == exits.FAILED_CONDITION
    assert lines[:2] == [action.MARK, "### dragstrip: a condition failed"]
    assert any(re.match(r"\| made over LTE \| h3 \| plt \| 1\.200 \(1\.\d+ to", x) for x in lines)
    assert any("5%: h3 on made over LTE**: failed" in line for line in lines)
    assert not any("h2 on made" in line for line in lines)
    assert "(https://ci.test/run/1)" in lines[-1]
    assert 'failures="1"' in (tmp_path / "junit.xml").read_text()
    (failed,) = (
        c
        for c in json.loads((tmp_path / "compare.json").read_text())["conditions"]
        if c["verdict"] == "failed"
    )
    assert failed["stack"] == "h3"


def test_no_difference_fails_nothing(tmp_path, action):
    code, text = compared(tmp_path, action, 1.0)
    assert code == exits.DONE
    assert "### dragstrip: no condition failed" in text


def test_in_github_the_run_is_annotated(tmp_path, action, monkeypatch, capfd):
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    compared(tmp_path, action, 1.2)
    assert "\n::error title=dragstrip compare%3A slower > 5%25%3A h3" in capfd.readouterr().err


def test_the_action_calls_what_exists():
    read = yaml.safe_load((ROOT / "action.yml").read_text())
    steps = read["runs"]["steps"]
    assert all("shell" in step for step in steps if "run" in step)
    script = "\n".join(step.get("run", "") for step in steps)
    called = set(re.findall(r'\$GITHUB_ACTION_PATH/([\w/.]+)"', script))
    assert called == {"action/race.py", "action/comment.py", "scripts/setup"}
    assert all((ROOT / path).is_file() for path in called)
    named = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text()))
    assert named == set(read["inputs"])


class Forge(BaseHTTPRequestHandler):
    """The part of a forge's interface that keeps comments."""

    comments: ClassVar[list[dict[str, Any]]] = []

    def do_GET(self):
        assert self.path == "/repos/me/server/issues/7/comments?per_page=100&page=1"
        self._answer(self.comments)

    def do_POST(self):
        assert self.path == "/repos/me/server/issues/7/comments"
        self.comments.append({"id": 40 + len(self.comments), **self._read()})
        self._answer(self.comments[-1])

    def do_PATCH(self):
        number = int(self.path.removeprefix("/repos/me/server/issues/comments/"))
        (comment,) = (c for c in self.comments if c["id"] == number)
        comment.update(self._read())
        self._answer(comment)

    def _read(self):
        assert self.headers["Authorization"] == "Bearer secret"
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _answer(self, content):
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def test_a_second_run_replaces_the_comment_of_the_first(tmp_path, action):
    Forge.comments = [{"id": 1, "body": "a person's"}]
    with ThreadingHTTPServer(("127.0.0.1", 0), Forge) as forge:
        Thread(target=forge.serve_forever, daemon=True).start()
        told = {"GH_TOKEN": "secret", "GITHUB_REPOSITORY": "me/server", "NUMBER": "7"}
        told["GITHUB_API_URL"] = f"http://127.0.0.1:{forge.server_port}"
        for text in ("first", "second"):
            (tmp_path / "comment.md").write_text(f"{action.MARK}\n{text}\n")
            argv = [sys.executable, str(ROOT / "action/comment.py"), str(tmp_path / "comment.md")]
            subprocess.run(argv, env={**os.environ, **told}, check=True)
        forge.shutdown()
    assert [c["body"] for c in Forge.comments] == ["a person's", f"{action.MARK}\nsecond\n"]


@pytest.mark.parametrize("name", ["ci", "league", "publish", "release"])
def test_the_workflows_call_what_exists(name):
    read = yaml.safe_load((ROOT / ".github/workflows" / f"{name}.yml").read_text())
    runs = [step["run"] for job in read["jobs"].values() for step in job["steps"] if "run" in step]
    for path in re.findall(r"(?:scripts|\.ci)/\w+", "\n".join(runs)):
        assert (ROOT / path).is_file()
