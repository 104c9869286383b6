"""What guests run is compiled once, and anew when it changes."""

import os
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import dragstrip
from dragstrip.execution.guest.bytecode import SEEN_AT, bytecode

PATH = str(Path(dragstrip.__file__).parents[1])
PACKAGES = Path(msgspec.__file__).parents[1]


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_what_a_guest_imports_is_compiled_and_found():
    made = bytecode(PACKAGES)
    before = {file: file.stat().st_mtime_ns for file in made.rglob("*.pyc")}
    assert any(file.name.startswith("inside.") for file in before)
    environment = os.environ | {"PYTHONPATH": PATH, "PYTHONPYCACHEPREFIX": str(made)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    argv = [
        sys.executable,
        "-c",
        "import dragstrip.execution.guest.inside, dragstrip.verdict.page_check",
    ]
    subprocess.run(argv, env=environment, check=True)
    assert {file: file.stat().st_mtime_ns for file in made.rglob("*.pyc")} == before
    assert bytecode(PACKAGES) == made
    seen = made / SEEN_AT[1:] / "dragstrip" / "execution" / "guest"
    assert any(file.name.startswith("inside.") for file in seen.iterdir())


def test_another_path_is_compiled_apart_and_what_is_used_stays(tmp_path):
    root = tmp_path / "dragstrip" / "bytecode"
    for age_s in (60, *range(7200, 7207)):
        (root / f"{age_s}").mkdir(parents=True)
        os.utime(root / f"{age_s}", (time.time() - age_s,) * 2)
    made = bytecode(PACKAGES)
    stay = {"60", "7200", "7201", "7202", made.name, "lock"}
    assert {path.name for path in root.iterdir()} == stay
    for number in range(5):
        (root / f"{number}").mkdir()
    assert bytecode(Path("/elsewhere")) != made
    assert made.exists()


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path):
    (tmp_path / "dragstrip").write_text("a file, where a folder should be")
    assert not bytecode(PACKAGES).exists()
