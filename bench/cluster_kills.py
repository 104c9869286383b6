"""What is lost, doubled or left when workers, scheduler and client of a cluster are killed?

    uv run python bench/cluster_kills.py [kills] [--blocks N] [--seed N]

A race in virtual time is made once without a cluster. Then it is made by a Dask scheduler and three
workers, each a process, and one of these, the scheduler, or the client is killed -9 at random
moments, in turn. What died is started again, as a batch system would, until the client ends well.
Its capsule must hold the same visits to the byte, each once, with the same HARs; no process of it
may be left, and its folders are
swept away by the next start. Prints a line a kill. Exit code 1 if anything was lost or left.
"""

import argparse
import contextlib
import hashlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from dask_processes import Processes
from dragstrip.results.capsule import JOURNAL
from dragstrip.testbed.workspace import sweep
from dragstrip.virtual.kernel.recipe import kernel

MAIN = "from dragstrip.cli import main; main()"
RACE = "race synth:12x8KB --virtual --network 10mbit/2mbit/20ms/2%/100ms --stack h2 --stack h3"
WORKERS = 3
WHAT = ("worker", "scheduler", "client")
PAUSES_S = (1.0, 12.0)
GONE_S = 30.0


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kills", type=int, nargs="?", default=20)
    parser.add_argument("--blocks", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    luck = random.Random(asked.seed)
    before = guests()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        began = time.monotonic()
        race(folder / "serial", asked.blocks).wait()
        print(f"without a cluster: {time.monotonic() - began:.0f} s", flush=True)
        wanted = contents(folder / "serial")
        killed = 0
        campaign = 0
        failed = False
        while killed < asked.kills:
            campaign += 1
            out = folder / f"cluster-{campaign}"
            began = time.monotonic()
            made, seen = disturbed(out, asked.blocks, asked.kills - killed, luck, folder)
            killed += made
            wrong = differing(contents(out), wanted)
            left = remains(before, seen)
            swept = len(sweep())  # as the next start does
            failed |= bool(wrong or left)
            print(
                f"run {campaign}, {made} kills, {time.monotonic() - began:.0f} s: "
                f"{len(wanted)} files and visits, {wrong or 'all the same to the byte'}; "
                f"{left or 'no process left'}, {swept} folders swept away",
                flush=True,
            )
    sys.exit(1 if failed else 0)


def disturbed(
    out: Path, blocks: int, kills: int, luck: random.Random, folder: Path
) -> tuple[int, set[int]]:
    """How many kills there were before the race ended, and all processes that were seen."""
    seen: set[int] = set()
    made = 0
    dask = started(folder)
    client = race(out, blocks, dask.address)
    try:
        while True:
            until = time.monotonic() + luck.uniform(*PAUSES_S)
            while time.monotonic() < until and client.poll() is None:
                seen |= family([client.pid, dask.scheduler.pid, *(w.pid for w in dask.workers)])
                time.sleep(0.1)
            if client.poll() == 0:
                return made, seen
            if client.poll() is None and made < kills:
                what = WHAT[made % len(WHAT)]
                victim = {
                    "worker": luck.choice(alive(dask.workers) or [client]),
                    "scheduler": dask.scheduler,
                    "client": client,
                }[what]
                with contextlib.suppress(ProcessLookupError):
                    os.kill(victim.pid, signal.SIGKILL)
                made += 1
                lines = (out / JOURNAL).read_bytes().count(b"\n") if out.exists() else 0
                print(f"  {made}: {what} killed after {lines} visits", flush=True)
                if what == "scheduler":
                    print(f"     the client ended with {client.wait(120)}", flush=True)
            if dask.scheduler.poll() is not None:
                dask.end()
                dask = started(folder)
            for _ in range(WORKERS - len(alive(dask.workers))):
                dask.add_worker()
            if client.poll() not in (None, 0):
                client = race(out, blocks, dask.address)
    finally:
        client.kill()
        client.wait()
        dask.end()


def started(folder: Path) -> Processes:
    dask = Processes(folder / "dask", {})
    for _ in range(WORKERS):
        dask.add_worker()
    return dask


def race(out: Path, blocks: int, cluster: str = "") -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", MAIN, *RACE.split(), "--runs", str(blocks), "--out", str(out)]
    if cluster:
        command += ["--cluster", cluster]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)


def contents(out: Path) -> dict[str, str]:
    """Digests of all visits and HARs; a visit that is there twice counts as two."""
    found: dict[str, str] = {}
    for number, line in enumerate(sorted((out / JOURNAL).read_bytes().splitlines())):
        found[f"visit {number}"] = hashlib.sha256(line).hexdigest()
    for har in (out / "har").iterdir():
        found[har.name] = hashlib.sha256(har.read_bytes()).hexdigest()
    return found


def differing(made: dict[str, str], wanted: dict[str, str]) -> list[str]:
    return sorted(
        name for name in made.keys() | wanted.keys() if made.get(name) != wanted.get(name)
    )


def remains(before: set[int], seen: set[int]) -> list[str]:
    deadline = time.monotonic() + GONE_S
    while (left := {p for p in seen if running(p)} | (guests() - before)) and (
        time.monotonic() < deadline
    ):
        time.sleep(0.2)
    return [f"process {pid}" for pid in sorted(left)]


def family(pids: list[int]) -> set[int]:
    return {child for pid in pids for child in (pid, *descendants(pid))}


def descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                yield child
                yield from descendants(child)


def guests() -> set[int]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if (process / "exe").readlink() == kernel():
                found.add(int(process.name))
    return found


def running(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def alive(processes: "list[subprocess.Popen[bytes]]") -> "list[subprocess.Popen[bytes]]":
    return [p for p in processes if p.poll() is None]


if __name__ == "__main__":
    main()
