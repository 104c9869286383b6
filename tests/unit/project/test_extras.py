"""An installation without the extras neither holds, imports nor needs them."""

import json
import re
import subprocess
import sys
from importlib import import_module
from importlib.metadata import requires
from types import SimpleNamespace

import pytest

from dragstrip.model import errors
from dragstrip.model.errors import InputError, importing

RACE = ["race", "synth:2x1KB", "--network", "LTE", "--stack", "h2", "--stack", "h3", "--runs", "1"]
OURS = ("altair", "dask", "distributed", "sklearn", "starlette", "uvicorn", "vl_convert")
PACKAGES = ("altair", "distributed", "scikit-learn", "starlette", "uvicorn", "vl-convert-python")


def python(code: str, *argv: str, home: object) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-c", code, *argv],
        capture_output=True,
        text=True,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home)},
    )


def test_a_plain_install_brings_none_of_them():
    plain = [need for need in requires("dragstrip") or [] if "extra ==" not in need]
    assert plain
    assert not [need for need in plain if need.lower().startswith(PACKAGES)]


def test_no_command_imports_them_before_it_is_asked_to(tmp_path):
    code = f"""
import sys
from dragstrip.cli.commands import COMMANDS, load
for name in COMMANDS:
    load(name)
import dragstrip, dragstrip.conduct.visits, dragstrip.report.site.audit, dragstrip.report.site.site
print([name for name in {OURS} if name in sys.modules])
"""
    assert python(code, home=tmp_path).stdout == "[]\n"


@pytest.mark.parametrize(
    ("missing", "argv", "said"),
    [
        ("distributed", [*RACE, "--cluster", "local:1", "--no-calibrate"], "extra 'cluster'"),
        ("uvicorn", [*RACE, "--watch"], "extra 'watch'"),
    ],
)
def test_without_an_extra_it_says_what_to_install(missing, argv, said, tmp_path):
    code = f"import sys; sys.modules[{missing!r}] = None\nfrom dragstrip.cli import main; main()"
    done = python(code, *argv, "--out", str(tmp_path / "c"), home=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert missing in done.stderr
    assert said in done.stderr


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        ({"url": "file:///x/d.whl"}, "pip install 'dragstrip[watch] @ file:///x/d.whl'"),
        ({"url": "file:///x", "dir_info": {}}, "pip install 'dragstrip[watch] @ file:///x'"),
        ({"url": "file:///x", "dir_info": {"editable": True}}, "`make build` in /x"),
        (None, "pip install 'dragstrip[watch] @ file:///PATH/OF/THE/WHEEL'"),
    ],
)
def test_an_extra_comes_from_where_dragstrip_came_from(monkeypatch, origin, command):
    told = origin and json.dumps(origin)
    installed = SimpleNamespace(read_text={"direct_url.json": told}.get, version="0.1.0")
    monkeypatch.setattr(errors, "distribution", {"dragstrip": installed}.get)
    with pytest.raises(InputError, match=re.escape(command)), importing("watch", "watching"):
        import_module("no_such_module")


def test_other_machines_are_only_of_a_cluster(tmp_path):
    code = "from dragstrip.cli import main; main()"
    done = python(code, *RACE, "--admit-other-machines", home=tmp_path)
    assert done.returncode == 2
    assert "--cluster" in done.stderr
