"""Wherever dragstrip is installed, a race in virtual time gives the same bytes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
from test_guest import MAIN, RACE

import dragstrip
from dragstrip.results.capsule import JOURNAL
from dragstrip.testbed.programs import program
from dragstrip.virtual.kernel.recipe import kernel

PROGRAMS = ("dragstrip-link", "dragstrip-origin", "dragstrip-loader")


def installed(folder: Path) -> str:
    """A Python, in an environment of its own, that has a copy of the package as a wheel has it."""
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


def made(python: str, out: Path, environment: dict[str, str]) -> dict[str, bytes]:
    argv = [python, "-c", MAIN, *RACE, "--runs", "1", "--seed", "3", "--pcap", "--out", str(out)]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return {f.name: f.read_bytes() for f in (out / JOURNAL, *(out / "pcap").glob("*.pcapng"))}


def test_another_folder_and_another_environment_give_the_same_packets(tmp_path):
    cache = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(kernel().parents[3])}
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | cache
    here = made(sys.executable, tmp_path / "here", environment)
    there = made(installed(tmp_path), tmp_path / "there", environment)
    assert len(here) == 3
    assert here == there
