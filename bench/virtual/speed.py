"""How fast is virtual time? Seconds of loads, of the wall clock and of the processor.

    uv run python bench/virtual/speed.py [--native]
    uv run python bench/virtual/speed.py --client loader

Runs three studies, one guest at a time and then one per core. They load the demo page over LTE, a
page of 50 objects on a slow lossy link (loads of 11 s), and 13 MB at 1 Mbit/s (loads of 160 s).
Seconds are of whole commands: start, guests, verdict, tables and report. `--native` runs the first
two in real time, too, which needs a quiet machine. `--client loader` takes the load generator, one
guest at a time and eight times as many runs, because it makes many visits in a guest.
"""

import argparse
import json
import os
import sys
import tempfile

from msgspec import Struct
from spent import spent_by

from dragstrip.model.browsers import LOADER

DRAGSTRIP = [sys.executable, "-c", "from dragstrip.cli import main; main()"]
LOADER_RUNS = 8
STUDIES = {
    "demo over LTE, 3 x h1, h2, h3": (["demo"], "LTE", ["h1", "h2", "h3"], 3),
    "50 x 10 kB, 0.468 Mbit/s, 131 ms, 1.5 % loss": (
        ["synth:50x10KB"],
        "0.468mbit/0.468mbit/131ms/1.5%/200ms",
        ["h2", "h3"],
        4,
    ),
    "128 x 100 kB, 1 Mbit/s, 100 ms, 1 % loss": (
        ["synth:128x100KB"],
        "1mbit/1mbit/50ms/1%/200ms",
        ["h2", "h3"],
        1,
    ),
}


class Row(Struct, kw_only=True):
    study: str
    clock: str
    jobs: int
    visits: int
    load_s: float
    """Time of all loads together, by the study's own clock, quiet time included."""
    wall_s: float
    cpu_s: float

    @property
    def times(self) -> float:
        """Loads' seconds in a second of the wall clock."""
        return self.load_s / self.wall_s


def main() -> None:
    asked = arguments()
    for name, (pages, network, stacks, runs) in STUDIES.items():
        ways = [("network", 1)]
        if asked.client == LOADER:
            runs *= LOADER_RUNS
        else:
            ways.append(("network", len(os.sched_getaffinity(0))))
        if asked.native and runs > 1:
            ways.append(("real", 1))
        for clock, jobs in ways:
            if jobs > 1 and runs == 1:
                continue
            row = measured(name, pages, network, stacks, runs, clock, jobs, asked.client)
            print(
                f"| {row.study} | {row.clock}, {row.jobs} at once | {row.visits} | "
                f"{row.load_s:.1f} | {row.wall_s:.1f} | {row.cpu_s:.1f} | {row.times:.1f} |",
                flush=True,
            )


def measured(
    name: str,
    pages: list[str],
    network: str,
    stacks: list[str],
    runs: int,
    clock: str,
    jobs: int,
    client: str,
) -> Row:
    with tempfile.TemporaryDirectory() as kept:
        argv = [*DRAGSTRIP, "race", *pages, "--network", network, "--runs", str(runs), "--json"]
        argv += [word for stack in stacks for word in ("--stack", stack)]
        argv += ["--out", f"{kept}/c", "--no-calibrate"]
        argv += ["--virtual", "--jobs", str(jobs)] if clock == "network" else []
        argv += ["--client", client] if client else []
        spent = spent_by(argv)
    visits = json.loads(spent.stdout)["visits"]
    return Row(
        study=name,
        clock=clock,
        jobs=jobs,
        visits=len(visits),
        load_s=sum(v["plt_ms"] / 1000 + 0.1 for v in visits if v["plt_ms"]),
        wall_s=spent.wall_s,
        cpu_s=spent.cpu_s,
    )


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--native", action="store_true", help="in real time, too")
    parser.add_argument("--client", default="", help="who loads the pages, by default a browser")
    return parser.parse_args()


if __name__ == "__main__":
    main()
