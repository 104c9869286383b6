"""`dragstrip race --virtual` gives the same bytes for any user, installation path and way of
calling, and after any kill."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest

import dragstrip
import ours
from dragstrip.execution.guest.kernel.recipe import kernel
from dragstrip.results.capsule import JOURNAL, Capsule
from dragstrip.testbed.programs import program
from made_replays import LOSSY, guests
from nobody import AS_NOBODY, NOBODY

MAIN = "from dragstrip.cli import main; main()"
RACE = f"race synth:12x8KB --computing --network {LOSSY} --stack h2 --stack h3 --seed 3".split()
PROGRAMS = ("dragstrip-link", "dragstrip-origin", "dragstrip-loader")


def environment(home: Path) -> dict[str, str]:
    return os.environ | {"HOME": str(home), "XDG_CACHE_HOME": str(kernel().parents[3])}


def made(
    program: list[str], out: Path, environment: dict[str, str], *more: str
) -> dict[str, bytes]:
    """The journal and the packets of a race with one block."""
    argv = [*program, *RACE, "--runs", "1", "--pcap", "--out", str(out), *more]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    found = {f.name: f.read_bytes() for f in (out / JOURNAL, *(out / "pcap").glob("*.pcapng"))}
    assert len(found) == 3
    return found


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("here")
    return made([sys.executable, "-c", MAIN], folder / "c", environment(folder))


def test_how_it_is_called_does_not_matter(here, tmp_path):
    script = tmp_path / "elsewhere" / "run.py"
    script.parent.mkdir()
    script.write_text(MAIN)
    assert made([sys.executable, str(script)], tmp_path / "c", environment(tmp_path)) == here


def installed(folder: Path) -> str:
    """A Python in a separate environment, with a copy of the package as a wheel has it."""
    copy = folder / "another" / "place" / "packages" / "dragstrip"
    shutil.copytree(Path(dragstrip.__file__).parent, copy)
    (copy / "_bin").mkdir(exist_ok=True)
    for name in PROGRAMS:
        shutil.copy(program(name), copy / "_bin" / name)
    own = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(own)], check=True)
    (packages,) = own.glob("lib/python3*/site-packages")
    needed = Path(msgspec.__file__).parents[1]
    (packages / "all.pth").write_text(f"{copy.parent}\n{needed}\n")
    return str(own / "bin" / "python")


def test_another_folder_and_another_environment_give_the_same_packets(here, tmp_path):
    elsewhere = {k: v for k, v in environment(tmp_path).items() if k != "PYTHONPATH"}
    assert made([installed(tmp_path), "-c", MAIN], tmp_path / "there", elsewhere) == here


OTHER_RUN = 'mount -t tmpfs none /run && mkdir -p "$1" && shift && exec "$@"'
"""Runs a command with a new /run, in which it makes the first argument, a folder."""


@pytest.mark.parametrize("folder", ["/run", "/run/mount"])
def test_what_short_programs_of_a_guest_find_on_the_machine_does_not_matter(here, tmp_path, folder):
    """How long `mount` runs depends on whether /run/mount is there. The kernel used to stir that
    into its random numbers."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    there = ["unshare", *user, "--mount", "sh", "-c", OTHER_RUN, "sh", folder]
    program = [*there, sys.executable, "-c", MAIN]
    assert made(program, tmp_path / "c", environment(tmp_path)) == here


def test_an_ordinary_user_without_any_privilege_gets_the_same(here, home):
    if os.geteuid():
        pytest.skip("needs root, to become somebody who is not")
    cache = home / "cache/dragstrip/virtual" / kernel().parent.name
    shutil.copytree(kernel().parent, cache)
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(home)], check=True)
    python = next((p for p in (sys.executable, "/usr/bin/python3") if _readable(p)), "")
    if not python:
        pytest.skip("no interpreter, or not this checkout, can be read by an ordinary user here")
    nobody = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --no-new-privs env".split()
    own = _with_path() | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}
    # That command may run another Python than ours, which gives other bytes.
    assert made([*nobody, python, "-c", MAIN], home / "c", own).keys() == here.keys()
    assert [v.reasons for v in Capsule.open(home / "c").visits()] == [()] * 2


def _with_path() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _readable(python: str) -> bool:
    argv = [*AS_NOBODY, python, "-c", MAIN, "--help"]
    return not subprocess.run(argv, env=_with_path(), capture_output=True).returncode


def test_killed_in_the_middle_it_resumes_to_the_same_capsule(tmp_path):
    before = ours.left()

    def start(out: Path) -> "subprocess.Popen[str]":
        argv = [sys.executable, "-c", MAIN, *RACE, "--runs", "2", "--jobs", "1", "--out", str(out)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        return subprocess.Popen(argv, env=environment(tmp_path), **pipes)

    cut = start(tmp_path / "cut")
    journal = tmp_path / "cut" / JOURNAL
    deadline = time.monotonic() + 120
    while not journal.exists() or journal.read_bytes().count(b"\n") < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (guest,) = [pid for pid in guests() if Path(f"/proc/{pid}/stat").exists()][:1]
    os.kill(guest, signal.SIGKILL)  # its block is made again
    cut.send_signal(signal.SIGKILL)
    cut.communicate()
    for out in (tmp_path / "cut", tmp_path / "whole"):
        _, said = (process := start(out)).communicate(timeout=300)
        assert process.returncode == 0, said
    assert journal.read_bytes() == (tmp_path / "whole" / JOURNAL).read_bytes()
    assert ours.left() == before
