"""Cells: the loads of every stack on one page and network, aligned by block, and their resamples.

A block's visits are resampled together, so what they share stays shared. Source: Efron and
Tibshirani, "An Introduction to the Bootstrap", chapter 8.
"""

from collections.abc import Callable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import reduce
from math import isclose
from typing import Literal

import numpy as np
import polars as pl
from msgspec import Struct
from numpy.typing import NDArray

from dragstrip.papers.answer import Replicates
from dragstrip.papers.evidence import FACTORS

Value = str | float | list[str | float]
Where = dict[str, Value]
"""Column to what it must be, or to a list of such; text may hold ``*``."""
Statistic = Literal["mean", "median"]
DRAWS = 1000


class Cell(Struct, frozen=True, kw_only=True):
    page: str
    network: str
    connection: str
    factors: Mapping[str, float]
    times: Mapping[str, NDArray[np.float64]]
    """By stack, one value a block, all stacks in the same order of blocks."""

    @property
    def blocks(self) -> int:
        return len(next(iter(self.times.values())))

    def first(self, loads: int) -> "Cell":
        cut = {stack: times[:loads] for stack, times in self.times.items()}
        return Cell(
            page=self.page,
            network=self.network,
            connection=self.connection,
            factors=self.factors,
            times=cut,
        )

    def centres(
        self, statistic: Statistic, seed: int = 0, draws: int = DRAWS
    ) -> dict[str, Replicates]:
        """Mean or median by stack: of the sample, then of so many resamples of its blocks."""
        draw = np.random.default_rng([seed, self.blocks])
        picked = draw.integers(self.blocks, size=(draws, self.blocks))
        picked = np.vstack([np.arange(self.blocks), picked])
        reducer = np.mean if statistic == "mean" else np.median
        return {s: np.asarray(reducer(t[picked], axis=1)) for s, t in self.times.items()}


def select(loads: pl.DataFrame, where: Where, unless: Where | None = None) -> pl.DataFrame:
    """The rows of which all of `where` holds, and not all of `unless`."""
    kept = loads.filter(_all(where, loads))
    return kept.filter(~_all(unless, kept)) if unless else kept


def cells(
    loads: pl.DataFrame, stacks: Sequence[str], metric: str, least_blocks: int = 1
) -> list[Cell]:
    """Those with at least so many blocks in which every one of the stacks has the metric."""
    found: list[Cell] = []
    keys = ["page", "network", "connection"]
    wanted = loads.filter(pl.col("stack").is_in(list(stacks)) & pl.col(metric).is_not_null())
    wide = wanted.sort(*keys, "block").pivot(
        on="stack", index=[*keys, "block", *FACTORS], values=metric, maintain_order=True
    )
    if not set(stacks) <= set(wide.columns):
        return []
    for key, rows in wide.drop_nulls(list(stacks)).group_by(keys, maintain_order=True):
        if len(rows) < least_blocks:
            continue
        first = rows.row(0, named=True)
        found.append(
            Cell(
                page=str(key[0]),
                network=str(key[1]),
                connection=str(key[2]),
                factors={f: first[f] for f in FACTORS if first[f] is not None},
                times={s: rows[s].to_numpy() for s in stacks},
            )
        )
    return found


Over = Literal["pages", "blocks"]
"""What a claim would hold for other ones of: pages of a corpus, or only loads of the very cells."""


def pooled(
    found: Sequence[Cell],
    measure: Callable[[Mapping[str, Replicates]], Replicates],
    statistic: Statistic,
    over: Over,
) -> tuple[Replicates, int]:
    """The mean of a measure over all cells, resampled, and how many units were resampled.

    `pages` resamples whole pages, each of which weighs the same (`dragstrip.stats.corpus`).
    """
    draws = DRAWS if over == "blocks" else 0
    each = [measure(cell.centres(statistic, i, draws)) for i, cell in enumerate(found)]
    if over == "blocks":
        return np.mean(each, axis=0), min(cell.blocks for cell in found)
    pages = list(dict.fromkeys(cell.page for cell in found))
    of_page = [
        np.mean([e[0] for e, c in zip(each, found, strict=True) if c.page == page])
        for page in pages
    ]
    return resample_pages(np.array(of_page)), len(pages)


def resample_pages(values: NDArray[np.float64]) -> Replicates:
    """Means over pages. Equal numbers of pages are resampled alike, so results pair up."""
    n = len(values)
    picked = np.random.default_rng(0).integers(n, size=(DRAWS, n))
    return np.asarray(values[np.vstack([np.arange(n), picked])].mean(axis=1))


def censored_note(loads: pl.DataFrame, stacks: Sequence[str]) -> str:
    count = loads.filter(pl.col("stack").is_in(list(stacks)) & pl.col("censored")).height
    return f"{count} loads never ended and stand at the client's limit" if count else ""


def _all(where: Where, frame: pl.DataFrame) -> pl.Expr:
    tests = [_is(column, value, frame) for column, value in where.items()]
    return reduce(lambda a, b: a & b, tests, pl.lit(True))


def _is(column: str, value: Value, frame: pl.DataFrame) -> pl.Expr:
    wanted = value if isinstance(value, list) else [value]
    here = frame[column].unique().to_list()
    kept = [v for v in here if any(_matches(v, w) for w in wanted)]
    return pl.col(column).is_in(kept) if kept else pl.lit(False)


def _matches(value: object, wanted: str | float) -> bool:
    if isinstance(wanted, str):
        return isinstance(value, str) and fnmatchcase(value, wanted)
    return isinstance(value, int | float) and isclose(value, wanted, rel_tol=1e-3)
