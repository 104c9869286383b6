"""Is a block in virtual time the same each time, to the byte?

    uv run python bench/virtual/replays.py [replays] [--load N] [--page demo] [--network LTE]
        [--stack h2 ...] [--computing] [--write NAME]

Makes the same block again and again, each time from the start, and hashes what was seen: the packet
record of each visit (ciphertext and times), and the journal. `--load 2` runs two busy loops
meanwhile. With `--computing`, system calls and handshakes take time. `--write NAME` saves hashes
and counts under that name in docs/reference/virtual-replays.json. Exit code 1 if any replay
differs.
"""

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import msgspec
from msgspec import Struct

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.model.study import Client, Study
from dragstrip.results.capsule import JOURNAL
from dragstrip.results.machine import Machine
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.virtual.kernel.recipe import kernel, name_of
from made_replays import busy, digests

DOCS = Path(__file__).parents[2] / "docs" / "reference" / "virtual-replays.json"


class Found(Struct, frozen=True):
    what: str
    kernel: str
    cpu: str
    busy_loops: int
    replays: int
    identical: int
    """Replays that equal the most frequent one."""
    packets: dict[str, str]
    """SHA-256 of the packet record of each visit, by file name."""
    journal: str
    seconds: float


def main() -> None:
    asked = arguments()
    with tempfile.TemporaryDirectory() as cache, busy(asked.load):
        began = time.monotonic()
        study = of(asked, Path(cache))
        seen = [replay(study, Path(cache), number) for number in range(asked.replays)]
    ((best, count),) = Counter(seen).most_common(1)
    names = dict(best)
    found = Found(
        what=f"{asked.page} over {asked.network}, {', '.join(asked.stack)}, {study.clock.short}",
        kernel=name_of(kernel()),
        cpu=Machine.here().cpu,
        busy_loops=asked.load,
        replays=len(seen),
        identical=count,
        journal=names.pop(JOURNAL),
        packets=names,
        seconds=time.monotonic() - began,
    )
    print(msgspec.json.format(msgspec.json.encode(found)).decode())
    if asked.write:
        kept = msgspec.json.decode(DOCS.read_bytes()) if DOCS.exists() else {}
        kept[asked.write] = msgspec.to_builtins(found)
        DOCS.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=2) + b"\n")
    sys.exit(0 if count == len(seen) else 1)


def replay(study: Study, folder: Path, number: int) -> tuple[tuple[str, str], ...]:
    """The hashes of one replay, by file name."""
    out = folder / f"replay-{number}"
    make_visits(study, out)
    hashes = digests(out)
    print(f"{number + 1}: {hashes[JOURNAL][:12]}", file=sys.stderr, flush=True)
    return tuple(hashes.items())


def of(asked: argparse.Namespace, cache: Path) -> Study:
    return StudySpec(
        name="replays",
        pages=[asked.page],
        networks=[find_network(asked.network)],
        stacks=[find_stack(name) for name in asked.stack],
        runs=1,
        seed=1,
        client=Client(pcap=True),
        clock=RunOptions(virtual=True, computing=asked.computing).clock,
    ).resolve(cache)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("replays", type=int, nargs="?", default=10)
    parser.add_argument("--load", type=int, default=0, help="busy loops beside it")
    parser.add_argument("--page", default="demo")
    parser.add_argument("--network", default="LTE")
    parser.add_argument("--stack", action="append")
    parser.add_argument("--computing", action="store_true")
    parser.add_argument("--write", default="")
    asked = parser.parse_args()
    asked.stack = asked.stack or ["h1", "h2", "h3"]
    return asked


if __name__ == "__main__":
    main()
