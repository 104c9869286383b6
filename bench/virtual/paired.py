"""Is one checkout faster in virtual time than another? Both make the same studies, in turns.

    uv run python bench/virtual/paired.py OTHER [--rounds 1] [--only WORDS]

OTHER is a checkout with its programs built. Seconds of whole commands, and processor seconds, which
say more on a busy machine. Prints a line for each command.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from spent import spent_by

HERE = Path(__file__).parents[2]
_MAIN = "from dragstrip.cli import main; main()"
_SLOW = [f"{rate}mbit/1mbit/{delay}ms/0%/200ms" for rate in (1, 4, 16) for delay in (10, 50)]
_LOADER = ["--client", "loader"]
STUDIES = {
    "loader, demo, 6 networks, h2, h3": ("demo", ["h2", "h3"], _SLOW, 1, _LOADER),
    "browser, demo over LTE, 3 x h1, h2, h3": ("demo", ["h1", "h2", "h3"], ["LTE"], 3, []),
    "browser, 50 x 10 kB over 0.468 Mbit/s, 2 x h2, h3": (
        "synth:50x10KB",
        ["h2", "h3"],
        ["0.468mbit/0.468mbit/131ms/1.5%/200ms"],
        2,
        [],
    ),
}


def main() -> None:
    asked = arguments()
    print("| study | checkout | jobs | visits | wall s | CPU s |\n|---|---|---|---|---|---|")
    for name, (page, stacks, networks, runs, more) in STUDIES.items():
        if asked.only not in name:
            continue
        argv = ["race", page, "--virtual", "--json", "--no-calibrate", "--runs", str(runs), *more]
        argv += [word for stack in stacks for word in ("--stack", stack)]
        argv += [word for network in networks for word in ("--network", network)]
        for _ in range(asked.rounds):
            for checkout in (asked.other, HERE):
                for jobs in asked.jobs:
                    print(
                        f"| {name} | {checkout.name} | {measured(argv, checkout, jobs)}", flush=True
                    )


def measured(argv: list[str], checkout: Path, jobs: int) -> str:
    path = {"PYTHONPATH": str(checkout / "src")}
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, "-c", _MAIN, *argv, "--jobs", str(jobs), "--out", f"{folder}/c"]
        spent = spent_by(argv, os.environ | path)
    visits = json.loads(spent.stdout)["visits"]
    return f"{jobs} | {len(visits)} | {spent.wall_s:.1f} | {spent.cpu_s:.1f} |"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--jobs", type=int, nargs="+", default=[1])
    parser.add_argument("--only", default="")
    asked = parser.parse_args()
    asked.other = asked.other.resolve()
    return asked


if __name__ == "__main__":
    main()
