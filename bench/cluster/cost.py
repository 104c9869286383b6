"""What a cluster costs: blocks through the scheduler, and the page that watches.

    uv run python bench/cluster/cost.py blocks [N]  N blocks (10,000) that are made at once
    uv run python bench/cluster/cost.py overhead [N]  N turns (3) with --cluster local:1 and without
    uv run python bench/cluster/cost.py waiting [N]  the same with visits that only wait
    uv run python bench/cluster/cost.py watch [S]  S seconds (30) of serving the page

Prints what it measures; docs/reference/cluster.md has the numbers.
"""

import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from msgspec import structs

import made
from dask_processes import dask_processes
from dragstrip.results.capsule import JOURNAL, Capsule
from made_cluster import run_on, sendable
from made_session import run_in

MAIN = "from dragstrip.cli import main; main()"
RACE = "race synth:2x1KB --virtual --network 10mbit/2mbit/20ms/0%/100ms --stack h2 --stack h3"
RACE += " --client loader"
"""A race whose blocks are the shortest that guests make, so that the cost of a cluster shows
most."""
TURN_BLOCKS = 8
TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    what, *rest = sys.argv[1:]
    number = int(rest[0]) if rest else None
    with tempfile.TemporaryDirectory() as folder:
        {"blocks": blocks, "overhead": overhead, "waiting": waiting, "watch": watch}[what](
            Path(folder), number
        )


def blocks(folder: Path, number: int | None) -> None:
    """Three workers; the study has two stacks."""
    count = number or 10_000
    study = sendable(made.study(runs=count), folder)
    study = structs.replace(study, stacks=study.stacks[:2])
    with dask_processes(folder / "dask", 3) as dask:
        pids = {"client": os.getpid(), "scheduler": dask.scheduler.pid}
        pids |= {f"worker {n + 1}": w.pid for n, w in enumerate(dask.workers)}
        over = threading.Event()

        def look() -> None:
            while not over.wait(5):
                journal = folder / "c" / JOURNAL
                there = journal.read_bytes().count(b"\n") if journal.exists() else 0
                memory = ", ".join(f"{name} {megabytes(pid):.0f}" for name, pid in pids.items())
                print(
                    f"{time.monotonic() - began:5.0f} s {there:6} visits; MB: {memory}", flush=True
                )

        began = time.monotonic()
        threading.Thread(target=look).start()
        run_on(dask.address, folder / "c", study, pause_s=0.0, independent=True)
        took = time.monotonic() - began
        over.set()
        visits = sum(1 for _ in Capsule.open(folder / "c").as_made())
        print(f"{count} blocks, {visits} visits in {took:.0f} s; MB: {memory(pids)}")


def overhead(folder: Path, number: int | None) -> None:
    """Measures both in turns, so that other work on this machine affects both alike."""
    took: dict[str, list[float]] = {"none": [], "local:1": []}
    for turn in range(number or 3):
        for cluster in sorted(took, reverse=bool(turn % 2)):
            out = folder / f"{turn}-{cluster.replace(':', '-')}"
            command = [sys.executable, "-c", MAIN, *RACE.split(), "--runs", str(TURN_BLOCKS)]
            command += ["--out", str(out)]
            command += ["--jobs", "1"] if cluster == "none" else ["--cluster", cluster]
            subprocess.run(command, check=True, capture_output=True)
            stamps = sorted(har.stat().st_mtime for har in (out / "har").iterdir())
            # From the first block's end to the last's: starting up is not part of the pace.
            took[cluster].append((stamps[-1] - stamps[1]) / (TURN_BLOCKS - 1))
            print(f"{cluster}: {took[cluster][-1]:.2f} s a block", flush=True)
    tell(took)


def waiting(folder: Path, number: int | None) -> None:
    """Measures blocks of two visits that wait 1 s each, so that a busy machine matters little."""
    took: dict[str, list[float]] = {"none": [], "local:1": []}
    study = sendable(made.study(runs=TURN_BLOCKS), folder)
    study = structs.replace(study, stacks=study.stacks[:2])
    for turn in range(number or 3):
        for cluster in sorted(took, reverse=bool(turn % 2)):
            out = folder / f"{turn}-{cluster.replace(':', '-')}"
            with growth(out / JOURNAL) as seen:
                if cluster == "none":
                    run_in(out, study, 1, pause_s=1.0)
                else:
                    run_on(cluster, out, study, pause_s=1.0)
            blocks = [(at, visits // 2) for at, visits in seen if visits >= 2]
            (first_s, before), (last_s, after) = blocks[0], blocks[-1]
            took[cluster].append((last_s - first_s) / (after - before))
            print(f"{cluster}: {took[cluster][-1]:.3f} s a block", flush=True)
    tell(took)


@contextlib.contextmanager
def growth(journal: Path) -> Iterator[list[tuple[float, int]]]:
    """Times at which the journal grew, and how many visits it had then."""
    seen: list[tuple[float, int]] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.01):
            visits = journal.read_bytes().count(b"\n") if journal.exists() else 0
            if visits and (not seen or visits > seen[-1][1]):
                seen.append((time.monotonic(), visits))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def tell(took: dict[str, list[float]]) -> None:
    none, local = (statistics.median(took[name]) for name in ("none", "local:1"))
    print(f"local:1 takes {local / none - 1:+.1%} longer per block (ratio of medians)")
    turns = zip(took["none"], took["local:1"], strict=True)
    print("turn by turn:", ", ".join(f"{with_ / without - 1:+.1%}" for without, with_ in turns))


def watch(folder: Path, number: int | None) -> None:
    """CPU that serving takes while no reader, one and two readers have the page open."""
    import urllib.request

    seconds = number or 30
    study = made.study(runs=2000, pages=("a", "b", "c"))
    over = threading.Event()
    out = folder / "c"

    def run() -> None:
        from dragstrip.results.manifest import Manifest

        with Capsule.create(out, Manifest(study=study, starts=())) as capsule:
            for block in study.blocks():
                for stack in block.order:
                    visit = made.visit(stack, block=block.id, page=block.page)
                    capsule.append(visit)
                    if over.wait(0.5):
                        return

    thread = threading.Thread(target=run)
    thread.start()
    time.sleep(2)
    server = subprocess.Popen(
        [sys.executable, "-c", MAIN, "watch", str(out), "--port", "8791"], stderr=subprocess.DEVNULL
    )
    time.sleep(4)

    def read() -> None:
        with urllib.request.urlopen("http://127.0.0.1:8791/events") as told:
            while not over.is_set() and told.readline():
                pass

    try:
        for readers in (0, 1, 2):
            if readers:
                threading.Thread(target=read, daemon=True).start()
                time.sleep(2)
            before = cpu_s(server.pid)
            time.sleep(seconds)
            share = (cpu_s(server.pid) - before) / seconds / (os.cpu_count() or 1)
            print(f"{readers} readers, 2 visits a second: {share:.2%} of all cores", flush=True)
    finally:
        over.set()
        thread.join()
        server.kill()
        server.wait()


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def memory(pids: dict[str, int]) -> str:
    return ", ".join(f"{name} {megabytes(pid):.0f}" for name, pid in pids.items())


def megabytes(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    return 0.0


if __name__ == "__main__":
    main()
