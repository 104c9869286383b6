"""For tests of exact replays: hashes of a capsule's files, and busy loops to slow the machine."""

import contextlib
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from dragstrip.results.capsule import JOURNAL


def digests(out: Path) -> dict[str, str]:
    """Of the journal and each file of packets."""
    files = (out / JOURNAL, *sorted((out / "pcap").glob("*.pcapng")))
    return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in files}


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
