"""The factor map of the web: docs/results/map.md and the interactive page docs/map.

    cd packages/papers/bench
    uv run python factor_map.py make FOLDER [--minutes M] [--jobs N]    # what it can
    uv run python factor_map.py spot FOLDER [--cells N] [--minutes M]   # in Chromium
    uv run python factor_map.py alone FOLDER [--cells N] [--minutes M]  # one a guest
    uv run python factor_map.py write FOLDER                            # the pages
    uv run python factor_map.py make OTHER --first 4000   # a later sitting

`make` visits the cells of docs/results/map.toml in their order with the load generator, in virtual
time, and continues a folder that was begun. Another folder, such as another machine's, begins with
the `--first` cell that docs/results/map.parquet lacks. `spot` draws cells at random from those that
are made, and visits them with Chromium; `alone` visits them with the load generator again, each in
a separate guest. `write` reads all three, and the cells before the first from map.parquet.
"""

import argparse
import time
from collections.abc import Collection, Sequence
from math import inf
from pathlib import Path

import numpy as np
import polars as pl
import vl_convert
from factor_map_words import Spotted, page_text
from msgspec import structs
from scipy.stats import spearmanr

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import TimeUp, make_visits
from dragstrip.model.browsers import LOADER
from dragstrip.model.study import Study
from dragstrip.results.capsule import MANIFEST, Capsule
from dragstrip.study.clients import study_by
from dragstrip.study.file import read_spec, read_study
from dragstrip.testbed.cache import cache_folder
from dragstrip_papers.map.pictures import network_map, page_map
from dragstrip_papers.map.sampled import made_cells, ratios, spots
from dragstrip_papers.map.survey import (
    PAIRS,
    QUEUE_PACKETS,
    SHORT_QUEUE,
    Agreement,
    ComparedStacks,
    PairAgreement,
    page_data,
    surveyed,
)
from dragstrip_papers.stats.nearest import outcomes
from dragstrip_papers.stats.prediction import Errors, errors

DOCS = Path(__file__).parents[3] / "docs"
RESULTS = DOCS / "results"
STUDY = RESULTS / "map.toml"
BROWSER = "browser"
ALONE = "alone"
SPOTS = 200
SPOT_SEED = 2016
FEWEST_SPOTS = 5
"""Cells below which no agreement is printed."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    for name in ("make", "spot", "alone", "write"):
        step = steps.add_parser(name)
        step.add_argument("folder", type=Path)
        if name != "write":
            step.add_argument("--minutes", type=float, default=inf)
            step.add_argument("--jobs", default="1")
        if name == "make":
            step.add_argument("--first", type=int, default=0)
        if name in ("spot", "alone"):
            step.add_argument("--cells", type=int, default=SPOTS)
    asked = parser.parse_args()
    if asked.step == "make":
        visit(study_by(since(asked.first), LOADER), asked.folder / LOADER, asked)
    elif asked.step == "spot":
        again(asked, BROWSER, BROWSER)
    elif asked.step == "alone":
        again(asked, LOADER, ALONE)
    else:
        write(asked.folder)


def again(asked: argparse.Namespace, client: str, out: str) -> None:
    """Visits cells drawn at random from those that are made, each in a separate guest."""
    made = made_cells(Capsule.open(asked.folder / LOADER))
    wanted = set(spots(made, asked.cells, SPOT_SEED))
    study = only(study_by(whole(), client), wanted)
    visit(structs.replace(study, per_guest=1), asked.folder / out, asked)


def write(folder: Path) -> None:
    sample = read_spec(STUDY).sample
    assert sample
    cells = all_made(Capsule.open(folder / LOADER))
    found = surveyed(cells, sample)
    cells.write_parquet(RESULTS / "map.parquet")
    held = {name: against(folder / name, cells) for name in (BROWSER, ALONE)}
    checked = held[BROWSER].pairs if held[BROWSER] else {}
    (DOCS / "map" / "cells.js").write_bytes(page_data(cells, sample, found, checked))
    drawn = [network_map(cells, sample), page_map(cells, sample)]
    for one in drawn:
        (RESULTS / f"{one.name}.svg").write_text(vl_convert.vegalite_to_svg(one.spec))
    text = page_text(cells, sample, found, held[BROWSER], held[ALONE], drawn[0].caption)
    (RESULTS / "map.md").write_text(text)


def all_made(capsule: Capsule) -> pl.DataFrame:
    """All made cells, those of earlier sittings included, numbered as in the whole sample."""
    numbers = {cell[:2]: n for n, cell in enumerate(whole().cells())}
    made = made_cells(capsule)
    own = [numbers[place] for place in made.select("page", "network").iter_rows()]
    made = made.with_columns(number=pl.Series(own, dtype=pl.Int64))
    first = numbers[capsule.manifest.study.cells()[0][:2]]
    return pl.concat(
        [pl.read_parquet(RESULTS / "map.parquet").filter(pl.col("number") < first), made]
    )


def against(folder: Path, cells: pl.DataFrame) -> Spotted | None:
    """Compare cells of the map with the same cells in a capsule; None if the capsule has too
    few."""
    if not (folder / MANIFEST).exists():
        return None
    capsule = Capsule.open(folder)
    others = made_cells(capsule).drop("number")
    both = cells.join(others, on=["page", "network"], suffix=" seen")
    seen = both.select("page", "network", pl.col("^.* seen$").name.map(lambda n: n.split()[0]))
    if len(both) < FEWEST_SPOTS:
        return None
    short = both.select(QUEUE_PACKETS < SHORT_QUEUE).to_series()
    crowded = both.filter(short), seen.filter(short)
    roomy = both.filter(~short), seen.filter(~short)
    pairs = {
        name: PairAgreement(
            whole=agreement(both, seen, pair),
            short=agreement(*crowded, pair) if short.any() else None,
            longer=agreement(*roomy, pair) if not short.all() else None,
        )
        for name, pair in PAIRS.items()
    }
    quic = [pair[1] for pair in PAIRS.values()]
    return Spotted(
        asked=len(capsule.manifest.study.cells()),
        pairs=pairs,
        times=off(both, seen, [s for pair in PAIRS.values() for s in pair]),
        short=off(*crowded, quic),
        longer=off(*roomy, quic),
    )


def off(made: pl.DataFrame, seen: pl.DataFrame, stacks: Sequence[str]) -> Errors | None:
    """Errors of the page load times of these stacks; None if no load ended on both sides."""
    times = [
        (mine, theirs)
        for column in (f"plt_ms_{stack}" for stack in stacks)
        for mine, theirs in zip(made[column], seen[column], strict=True)
        if mine and theirs
    ]
    return errors(*zip(*times, strict=True)) if times else None


def agreement(made: pl.DataFrame, seen: pl.DataFrame, pair: ComparedStacks) -> Agreement:
    mine, theirs = ratios(made, *pair), ratios(seen, *pair)
    said, true = outcomes(mine), outcomes(theirs)
    there = np.isfinite(mine) & np.isfinite(theirs)
    return Agreement(
        cells=len(made),
        same=int((said == true).sum()),
        opposite=int((abs(said - true) == 2).sum()),
        rank=float(spearmanr(mine[there], theirs[there]).statistic) if there.sum() > 2 else None,
    )


def whole() -> Study:
    """The whole study as planned, for browsers."""
    return read_study(STUDY, cache_folder("pages"))


def since(first: int) -> Study:
    """The study with the cells from number `first` on. Raises `SystemExit` if one guest would make
    cells on both sides of it."""
    study = whole()
    if first % study.per_guest:
        raise SystemExit(f"--first {first}: give a multiple of {study.per_guest}, whole guests")
    return only(study, {cell[:2] for cell in study.cells()[first:]}) if first else study


def only(study: Study, wanted: Collection[tuple[str, str]]) -> Study:
    """The study with only the `wanted` cells, each given as page and network."""
    blocks = [block for block in study.blocks() if (block.page, block.network) in wanted]
    return study.part(blocks)


def visit(study: Study, out: Path, asked: argparse.Namespace) -> None:
    try:
        until = time.monotonic() + asked.minutes * 60
        make_visits(study, out, RunOptions(jobs=asked.jobs), until=until)
    except TimeUp:
        print(f"{out}: continue with the same command")


if __name__ == "__main__":
    main()
