"""The factor map of the web: docs/results/map.md and the interactive page docs/map.

    uv run python bench/factor_map.py make FOLDER [--minutes M] [--jobs N]    # as far as it comes
    uv run python bench/factor_map.py spot FOLDER [--cells N] [--minutes M]   # the same in Chromium
    uv run python bench/factor_map.py write FOLDER                            # redraws the pages

`make` visits the cells of docs/results/map.toml in their order with the load generator, in virtual
time, and continues a folder that was begun. `spot` draws cells at random from those that are made,
and visits them with Chromium. `write` reads both.
"""

import argparse
import time
from math import inf
from pathlib import Path

from dragstrip.conduct.clocks import jobs_of
from dragstrip.conduct.visits import TimeUp, make_visits
from dragstrip.model.browsers import LOADER
from dragstrip.model.study import Study
from dragstrip.study.clients import study_by
from dragstrip.study.file import read_study
from dragstrip.testbed.cache import cache_folder

DOCS = Path(__file__).parents[1] / "docs"
STUDY = DOCS / "results" / "map.toml"
SPOTS = 200
SPOT_SEED = 2016


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    for name in ("make", "spot", "write"):
        step = steps.add_parser(name)
        step.add_argument("folder", type=Path)
        if name != "write":
            step.add_argument("--minutes", type=float, default=inf)
            step.add_argument("--jobs", default="1")
        if name == "spot":
            step.add_argument("--cells", type=int, default=SPOTS)
    asked = parser.parse_args()
    if asked.step == "make":
        visit(study_by(whole(), LOADER), asked.folder / "loader", asked)


def whole() -> Study:
    """As planned, for browsers."""
    return read_study(STUDY, cache_folder("pages"))


def visit(study: Study, out: Path, asked: argparse.Namespace) -> None:
    try:
        until = time.monotonic() + asked.minutes * 60
        make_visits(study, out, jobs=jobs_of(study.clock, asked.jobs), until=until)
    except TimeUp:
        print(f"{out}: continue with the same command")


if __name__ == "__main__":
    main()
