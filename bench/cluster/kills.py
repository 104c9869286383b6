"""What is lost, and what is left, when parts of a cluster are killed?

    uv run python bench/cluster/kills.py [kills] [--seed N] [--runs R] [--virtual] [--blocks B]

A Dask scheduler and three workers, each a separate process, make a study of 60 blocks with three
stacks. Visits come from a session without a testbed, or from guests with --virtual. At random
moments a worker, the scheduler or the client is killed by kill -9, in turn, and started again as a
batch system or a user would. The kills (20) are spread over R runs (4) of the study. Afterwards no
visit may be missing or there twice, `dragstrip compare` must find no difference from the same study
made without a cluster, and no process, network namespace or scratch folder may be left.

Prints a line for each kill and each run. Exit code 1 if anything was lost or left.
"""

import argparse
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))


from remains import Family, differing

import made
from dask_processes import Processes
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Client, Study
from dragstrip.results.capsule import JOURNAL
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from made_cluster import run_on, sendable
from made_session import run_in

WORKERS = 3
VICTIMS = ("worker", "scheduler", "client")
PATIENCE_S = 300.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kills", type=int, nargs="?", default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--virtual", action="store_true")
    asked = parser.parse_args()
    luck, victims, failed = random.Random(asked.seed), iter(in_turn()), 0
    with tempfile.TemporaryDirectory(prefix="kills-") as text:
        folder = Path(text)
        os.environ["TMPDIR"] = tempfile.tempdir = str(folder)  # so that what is left is ours
        making = (guests if asked.virtual else without_testbed)(folder, asked.blocks)
        making.alone(folder / "serial")
        for run in range(asked.runs):
            kills = asked.kills // asked.runs + (run < asked.kills % asked.runs)
            at = sorted(luck.uniform(0.05, 0.95) for _ in range(kills))
            disturbed = Disturbed(folder, f"run-{run}", making)
            for share in at:
                disturbed.kill(next(victims), share, luck)
            wrong = disturbed.end(folder / "serial")
            failed += bool(wrong)
            print(f"run {run + 1}: {'; '.join(wrong) or 'all there, nothing left'}", flush=True)
    sys.exit(1 if failed else 0)


def in_turn() -> Iterator[str]:
    while True:
        yield from VICTIMS


class Making(NamedTuple):
    study: Study
    alone: Callable[[Path], None]
    """Makes it without a cluster."""
    together: Callable[..., None]
    """Makes it with the scheduler at `address`, into `out`."""


def without_testbed(folder: Path, blocks: int) -> Making:
    study = sendable(made.study(runs=blocks), folder)
    together = partial(run_on, study=study, pause_s=0.05)
    return Making(study, lambda out: run_in(out, study, 1), together)


def guests(folder: Path, blocks: int) -> Making:
    study = StudySpec(
        name="kills",
        pages=["synth:2x1KB"],
        networks=[find_network("10mbit/2mbit/20ms/2%/100ms")],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=blocks,
        seed=3,
        client=Client(),
        clock=NETWORK,
    ).resolve(folder / "pages")
    together = partial(in_guests, study=study)
    return Making(study, lambda out: make_visits(study, out, RunOptions(jobs=2)), together)


def in_guests(address: str, out: Path, study: Study) -> None:
    make_visits(study, out, RunOptions(cluster=address))


class Disturbed:
    """A run of the study of which parts are killed."""

    def __init__(self, folder: Path, name: str, making: Making) -> None:
        self._out = folder / name
        self._dask_folder = folder / f"dask-{name}"
        self._visits = len(list(making.study.blocks())) * len(making.study.visited)
        self._together = making.together
        self._family = Family()
        self._start_dask()
        self._start_client()

    def kill(self, what: str, share: float, luck: random.Random) -> None:
        """Once this share of the visits is made, and a little later."""
        deadline = time.monotonic() + PATIENCE_S
        while self._made() < share * self._visits and self._client.is_alive():
            assert time.monotonic() < deadline, "no visits are made"
            time.sleep(0.01)
        time.sleep(luck.uniform(0, 0.3))
        self._family.note()
        getattr(self, f"_kill_{what}")(luck)
        print(f"{what} killed after {self._made()} of {self._visits} visits", flush=True)

    def end(self, serial: Path) -> list[str]:
        """What is wrong with the cluster's capsule."""
        self._client.join(PATIENCE_S)
        if self._client.exitcode != 0:
            self._start_client()
            self._client.join(PATIENCE_S)
        wrong = [] if self._client.exitcode == 0 else ["the last client did not finish"]
        self._family.note()
        for worker in self._dask.workers:  # in order, as a batch system ends a job
            worker.terminate()
        for worker in self._dask.workers:
            worker.wait(PATIENCE_S)
        self._dask.end()
        return wrong + differing(serial, self._out) + self._family.remains()

    def _kill_worker(self, luck: random.Random) -> None:
        victim = luck.choice([w for w in self._dask.workers if w.poll() is None])
        os.kill(victim.pid, signal.SIGKILL)
        self._dask.add_worker()

    def _kill_scheduler(self, luck: random.Random) -> None:
        """Kills the scheduler. Its client says so and ends; the user starts everything again."""
        os.kill(self._dask.scheduler.pid, signal.SIGKILL)
        self._client.join(PATIENCE_S)
        self._dask.end()
        self._start_dask()
        self._start_client()

    def _kill_client(self, luck: random.Random) -> None:
        self._client.kill()
        self._client.join()
        self._start_client()

    def _start_dask(self) -> None:
        self._dask = Processes(self._dask_folder, {})
        for _ in range(WORKERS):
            self._dask.add_worker()
        self._family.of(self._dask.scheduler.pid, *(w.pid for w in self._dask.workers))

    def _start_client(self) -> None:
        context = multiprocessing.get_context("spawn")
        args = {"address": self._dask.address, "out": self._out}
        self._client = context.Process(target=self._together, kwargs=args)
        self._client.start()
        self._family.of(self._client.pid)

    def _made(self) -> int:
        journal = self._out / JOURNAL
        return journal.read_bytes().count(b"\n") if journal.exists() else 0


if __name__ == "__main__":
    main()
