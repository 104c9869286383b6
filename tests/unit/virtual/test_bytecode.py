"""What guests run is compiled once, and anew when it changes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import dragstrip
from dragstrip.virtual.bytecode import SEEN_AT, bytecode

PATH = str(Path(dragstrip.__file__).parents[1])


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_what_a_guest_imports_is_compiled_and_found():
    made = bytecode([])
    before = {file: file.stat().st_mtime_ns for file in made.rglob("*.pyc")}
    assert any(file.name.startswith("inside.") for file in before)
    environment = os.environ | {"PYTHONPATH": PATH, "PYTHONPYCACHEPREFIX": str(made)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    argv = [sys.executable, "-c", "import dragstrip.virtual.inside, dragstrip.visit.check"]
    subprocess.run(argv, env=environment, check=True)
    assert {file: file.stat().st_mtime_ns for file in made.rglob("*.pyc")} == before
    assert bytecode([]) == made
    seen = made / SEEN_AT[1:] / "dragstrip" / "virtual"
    assert any(file.name.startswith("inside.") for file in seen.iterdir())


def test_another_path_is_compiled_apart():
    assert bytecode([]) != bytecode(["/elsewhere"])


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "dragstrip").write_text("a file, where a folder should be")
    assert not bytecode([]).exists()
