"""What is lost, and what is left, when a part of a race in virtual time is killed?

    uv run python bench/virtual/kills.py [kills] [--seed N]

Each try starts the same race and kills -9 one of its processes at a random moment: the command, its
worker, a guest, or a program inside a guest, in turn. Then the same command is given again. All of
its visits must be those of an undisturbed race, and no process and no folder may be left. Prints
one line per try. Exit code 1 if anything was lost or left.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from dragstrip.execution.guest.job import CAPSULE
from dragstrip.execution.guest.kernel.recipe import kernel
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.testbed.workspace import scratch_root

MAIN = "from dragstrip.cli import main; main()"
RACE = "race synth:12x8KB --virtual --network 10mbit/2mbit/20ms/2%/100ms --stack h2 --stack h3"
WHAT = ("command", "worker", "guest", "inside")
INSIDE = "uml-userspace\n"
"""What the host calls every program of a guest."""
GONE_S = 20.0
SCHEDULE = ("beside",)
"""How many blocks ran at once. After a kill there may be fewer left."""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kills", type=int, nargs="?", default=20)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    luck, failed = random.Random(asked.seed), 0
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        race(Path(folder) / "undisturbed").wait()
        lasts_s = time.monotonic() - began
        wanted = visits(Path(folder) / "undisturbed")
        for number in range(asked.kills):
            out, what = Path(folder) / f"try-{number}", WHAT[number % len(WHAT)]
            after_s = luck.uniform(0.5, 0.9 * lasts_s)
            killed, left = disturb(out, what, after_s, luck)
            again = race(out).wait()
            left += [str(f) for f in scratch_root().glob("testbed-*") if capsule_of(f) == out]
            other = differing(visits(out), wanted)
            good = again == 0 and not other and not left
            failed += not good
            said = f"exit code {again}, left: {left}, other: {other}" if not good else "all there"
            print(f"{number + 1}: {killed} killed after {after_s:.1f} s: {said}", flush=True)
    sys.exit(1 if failed else 0)


def race(out: Path) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", MAIN, *RACE.split(), "--runs", "2", "--out", str(out)]
    quiet = subprocess.DEVNULL
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet)


def visits(out: Path) -> list[Visit]:
    return sorted(Capsule.open(out).visits(), key=lambda v: (v.block, v.stack))


def differing(made: list[Visit], wanted: list[Visit]) -> list[str]:
    """Where two races differ: in a field of a visit, or in which visits exist."""
    if [(v.block, v.stack, v.attempt) for v in made] != [
        (v.block, v.stack, v.attempt) for v in wanted
    ]:
        return [f"{v.block} {v.stack} attempt {v.attempt}" for v in made]
    return [
        f"{a.block} {a.stack}: {field}"
        for a, b in zip(made, wanted, strict=True)
        for field in Visit.__struct_fields__
        if field not in SCHEDULE and getattr(a, field) != getattr(b, field)
    ]


def disturb(out: Path, what: str, after_s: float, luck: random.Random) -> tuple[str, list[str]]:
    """Kill a process of the race; return what was killed, and which processes outlived the race."""
    running = race(out)
    time.sleep(after_s)
    family = list(descendants(running.pid))
    among = [pid for pid in family if kind(pid) == what]
    victim = running.pid if what == "command" or not among else luck.choice(among)
    name = what if victim != running.pid else "command"
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL)
    running.wait()
    deadline = time.monotonic() + GONE_S
    while (left := [pid for pid in family if alive(pid)]) and time.monotonic() < deadline:
        time.sleep(0.1)
    return name, [f"process {pid}" for pid in left]


def descendants(pid: int) -> Iterator[int]:
    with contextlib.suppress(OSError):
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            for child in map(int, children.read_text().split()):
                yield child
                yield from descendants(child)


def kind(pid: int) -> str:
    with contextlib.suppress(OSError):
        if Path(f"/proc/{pid}/comm").read_text() == INSIDE:
            return "inside"
        return "guest" if Path(f"/proc/{pid}/exe").readlink() == kernel() else "worker"
    return ""


def alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def capsule_of(folder: Path) -> Path | None:
    with contextlib.suppress(OSError):
        return (folder / CAPSULE).readlink()
    return None


if __name__ == "__main__":
    main()
