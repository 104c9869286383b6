"""Exact replays for tests: a lossy network, hashes of a capsule's files, guests that run, and loops
that keep the machine busy."""

import contextlib
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

from dragstrip.execution.guest.kernel.recipe import kernel
from dragstrip.results.capsule import JOURNAL

LOSSY = "10mbit/2mbit/20ms/2%/100ms"


def digests(out: Path) -> dict[str, str]:
    """Digests of the journal and of each file of packets."""
    files = (out / JOURNAL, *sorted((out / "pcap").glob("*.pcapng")))
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


def guests() -> list[int]:
    """Processes that run the guests' kernel in this worker's temporary folder, of any user."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            here = (process / "cwd").readlink().is_relative_to(gettempdir())
            if here and (process / "exe").readlink() == kernel().resolve():
                found.append(int(process.name))
        except OSError:
            continue
    return found


@contextlib.contextmanager
def busy(loops: int = 3) -> Iterator[None]:
    """Run that many endless loops until this ends."""
    endless = [sys.executable, "-c", "while True: pass"]
    running = [subprocess.Popen(endless) for _ in range(loops)]
    try:
        yield
    finally:
        for loop in running:
            loop.kill()
            loop.wait()
