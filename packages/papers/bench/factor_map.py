"""The factor map of the web: docs/results/map.md and the interactive page docs/map.

    cd packages/papers/bench
    uv run python factor_map.py make FOLDER [--minutes M] [--jobs N]   # what it can
    uv run python factor_map.py make OTHER --first 4000   # a later sitting
    uv run python factor_map.py add FOLDER                # its cells to map.parquet
    uv run python factor_map.py spot FOLDER [--minutes M] [--jobs N]   # in Chromium
    uv run python factor_map.py alone FOLDER [--minutes M] [--jobs N]  # one a guest
    uv run python factor_map.py write                     # the pages

`make` visits the cells of docs/results/map.toml in their order with the load generator, in virtual
time, and continues a folder that was begun. Another folder, such as another machine's, begins with
the `--first` cell that docs/results/map.parquet lacks. `spot` draws cells at random from those in
map.parquet, and visits them with Chromium; `alone` visits some with the load generator again, each
in a separate guest. Both keep what they made beside map.parquet. `write` reads these three files.
"""

import argparse
import time
from collections.abc import Collection, Sequence
from math import inf
from pathlib import Path

import numpy as np
import polars as pl
import vl_convert
from factor_map_words import SPOTS, MadeAgain, Spotted, page_text
from msgspec import structs
from scipy.stats import spearmanr

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import TimeUp, make_visits
from dragstrip.model.browsers import LOADER
from dragstrip.model.study import Study
from dragstrip.results.capsule import Capsule
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
MAP = RESULTS / "map.parquet"
FEWEST_SPOTS = 5
"""Cells below which no agreement is printed."""

SPOT_SEED = 2026
CHECKS = {"spot": "browser", "alone": LOADER}
"""The client that makes the drawn cells again, by step."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    steps = parser.add_subparsers(dest="step", required=True)
    for name in ("make", "add", *CHECKS, "write"):
        step = steps.add_parser(name)
        if name != "write":
            step.add_argument("folder", type=Path)
        if name not in ("add", "write"):
            step.add_argument("--minutes", type=float, default=inf)
            step.add_argument("--jobs", default="1")
        if name == "make":
            step.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    if asked.step == "make":
        visit(study_by(since(asked.first), LOADER), asked.folder, asked)
    elif asked.step == "add":
        all_made(Capsule.open(asked.folder)).write_parquet(MAP)
    elif asked.step == "write":
        write()
    else:
        again(CHECKS[asked.step], asked)


def again(client: str, asked: argparse.Namespace) -> None:
    """Visits cells drawn at random from the map, each in a separate guest, and keeps them."""
    wanted = set(spots(pl.read_parquet(MAP), SPOTS, SPOT_SEED))
    study = only(study_by(whole(), client), wanted)
    visit(structs.replace(study, per_guest=1), asked.folder, asked)
    made_cells(Capsule.open(asked.folder)).drop("number").write_parquet(kept_in(client))


def write() -> None:
    sample = read_spec(STUDY).sample
    assert sample
    cells = pl.read_parquet(MAP)
    found = surveyed(cells, sample)
    browser, loader = kept(CHECKS["spot"]), kept(CHECKS["alone"])
    spotted = against(cells, browser)
    checked = spotted.pairs if spotted else {}
    (DOCS / "map" / "cells.js").write_bytes(page_data(cells, sample, found, checked))
    drawn = [network_map(cells, sample), page_map(cells, sample)]
    for one in drawn:
        (RESULTS / f"{one.name}.svg").write_text(vl_convert.vegalite_to_svg(one.spec))
    made_again = MadeAgain(spotted, against(cells, loader), against(loader, browser))
    text = page_text(cells, sample, found, made_again, drawn[0].caption)
    (RESULTS / "map.md").write_text(text)


def all_made(capsule: Capsule) -> pl.DataFrame:
    """All made cells, those of earlier sittings included, numbered as in the whole sample."""
    numbers = {cell[:2]: n for n, cell in enumerate(whole().cells())}
    made = made_cells(capsule)
    own = [numbers[place] for place in made.select("page", "network").iter_rows()]
    made = made.with_columns(number=pl.Series(own, dtype=pl.Int64))
    first = numbers[capsule.manifest.study.cells()[0][:2]]
    return pl.concat([pl.read_parquet(MAP).filter(pl.col("number") < first), made])


def kept_in(client: str) -> Path:
    return RESULTS / f"map-{client}.parquet"


def kept(client: str) -> pl.DataFrame | None:
    """The drawn cells that a client made again; None if it made none."""
    return pl.read_parquet(kept_in(client)) if kept_in(client).exists() else None


def against(cells: pl.DataFrame | None, others: pl.DataFrame | None) -> Spotted | None:
    """Compare two tables of cells where both have them; None if they share too few."""
    if cells is None or others is None:
        return None
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
