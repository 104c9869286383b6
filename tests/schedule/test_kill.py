"""What SIGKILL at any moment leaves behind, with real processes and made visits."""

import multiprocessing
import os
import random
import signal
import time
from pathlib import Path

import pytest

import made
from dragstrip.results.capsule import Capsule
from made_session import run_in, slow

KILLS = 50
STUDY = slow(made.study(runs=50, pages=("a", "b")))

# Processes that fork here use only the standard library and msgspec.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def heeding(folder: Path, jobs: int) -> None:
    # A shell starts background jobs with Ctrl-C ignored, and their children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    run_in(folder, STUDY, jobs)


def start(folder: Path, jobs: int) -> multiprocessing.Process:
    process = multiprocessing.get_context("fork").Process(target=heeding, args=(folder, jobs))
    process.start()
    return process


def visits(folder: Path) -> list[tuple[str, int, str, int, int, str]]:
    made_there = Capsule.open(folder).visits()
    return [(v.block, v.attempt, v.stack, v.seed, v.position, v.verdict) for v in made_there]


def workers_of(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def gone(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def test_a_study_killed_fifty_times_makes_the_visits_of_an_undisturbed_one(tmp_path):
    whole = start(tmp_path / "whole", 1)
    whole.join()
    assert whole.exitcode == 0
    expected = visits(tmp_path / "whole")
    draw, killed, left = random.Random(7), tmp_path / "killed", []
    for kill in range(KILLS):
        # What was made before does not depend on the number of jobs, so it may change.
        process = start(killed, jobs=2 if kill % 5 == 0 else 1)
        journal, before = killed / "journal.jsonl", len(expected) * kill // KILLS
        moment = before + draw.randrange(len(expected) // KILLS)
        while process.is_alive():
            written = journal.read_bytes().count(b"\n") if journal.exists() else 0
            if written >= moment:
                break
            time.sleep(draw.random() * 0.01)
        left += workers_of(process.pid)
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    last = start(killed, jobs=2)
    last.join()
    assert last.exitcode == 0
    found = visits(killed)
    assert len(found) == len(set(found))
    assert sorted(found) == sorted(expected)
    assert left
    deadline = time.monotonic() + 30
    while not all(map(gone, left)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert all(map(gone, left)), "a worker outlived its owner"


def test_ctrl_c_ends_the_workers_and_what_was_made_stays(tmp_path):
    process = start(tmp_path / "capsule", 2)
    journal = tmp_path / "capsule" / "journal.jsonl"
    while not (journal.exists() and journal.stat().st_size):
        time.sleep(0.01)
    workers = workers_of(process.pid)
    os.kill(process.pid, signal.SIGINT)
    process.join()
    assert workers
    assert all(map(gone, workers))
    assert set(visits(tmp_path / "capsule")) < set(expected_of(tmp_path))


def expected_of(tmp_path: Path) -> list[tuple[str, int, str, int, int, str]]:
    whole = start(tmp_path / "whole", 3)
    whole.join()
    return visits(tmp_path / "whole")
