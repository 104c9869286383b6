"""Prepares cells for predicates: the loads of some stacks, one value per round.

A round is one block on every cell (`dragstrip.model.study.Study.blocks`), so each round repeats the
whole study. A claim about several cells together is computed for each round, and intervals are over
rounds.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from math import isclose, isnan
from typing import Literal

import numpy as np
import polars as pl
from msgspec import Struct, structs

from dragstrip.pages import corpus
from dragstrip.stats.median import middle
from dragstrip_papers.measured import Evidence, Measured, Values

Value = str | float | list[str | float]
Where = dict[str, Value]
"""The value that a field of a cell must have, or a list of allowed values; text may contain
``*``."""
Statistic = Literal["mean", "median"]


class Cell(Struct, frozen=True, kw_only=True):
    page: str
    network: str
    connection: str
    factors: Mapping[str, float]
    standin: bool
    times: Mapping[str, Values]
    """Load times by stack, one per round. All stacks have the same rounds."""
    censored: int = 0
    """Number of these loads that never ended."""

    @property
    def blocks(self) -> int:
        return len(next(iter(self.times.values())))

    def first(self, loads: int) -> "Cell":
        cut = {stack: times[:loads] for stack, times in self.times.items()}
        return structs.replace(self, times=cut)

    def centre(self, stack: str, statistic: Statistic) -> float:
        times = self.times[stack]
        return float(times.mean()) if statistic == "mean" else middle(sorted(times.tolist()))


def cells(
    loads: pl.DataFrame, stacks: Sequence[str], metric: str, least_blocks: int = 1
) -> list[Cell]:
    """Return the cells of a frame that have at least `least_blocks` blocks in which every stack has
    the metric."""
    return aligned(Evidence(loads).cells, stacks, metric, least_blocks)


def aligned(
    found: Iterable[Measured], stacks: Sequence[str], metric: str, least_blocks: int = 1
) -> list[Cell]:
    """Return the measured cells that have at least `least_blocks` rounds in which every stack has
    the metric."""
    read = (_align(cell, stacks, metric) for cell in found if {*stacks} <= cell.stacks.keys())
    return [cell for cell in read if cell.blocks >= max(1, least_blocks)]


def _align(cell: Measured, stacks: Sequence[str], metric: str) -> Cell:
    own = [cell.stacks[stack] for stack in stacks]
    values = [loads.values[metric] for loads in own]
    rounds = own[0].rounds
    alike = all(loads.rounds is rounds or np.array_equal(rounds, loads.rounds) for loads in own[1:])
    if not alike or any(isnan(v.sum()) for v in values):
        known = [loads.rounds[~np.isnan(v)] for loads, v in zip(own, values, strict=True)]
        shared = known[0]
        for other in known[1:]:
            shared = np.intersect1d(shared, other)
        picks = [
            np.isin(loads.rounds, shared) & ~np.isnan(v)
            for loads, v in zip(own, values, strict=True)
        ]
        values = [v[pick] for v, pick in zip(values, picks, strict=True)]
        lost = sum(int(loads.censored[p].sum()) for loads, p in zip(own, picks, strict=True))
    else:
        lost = sum(int(loads.censored.sum()) for loads in own)
    return Cell(
        page=cell.page,
        network=cell.network,
        connection=cell.connection,
        factors=cell.factors,
        standin=cell.standin,
        times=dict(zip(stacks, values, strict=True)),
        censored=lost,
    )


def by_round(found: Sequence[Cell], measure: Callable[[Mapping[str, Values]], Values]) -> Values:
    """Return the mean of a measure over the cells, round by round, for the rounds that every cell
    has."""
    rounds = min(cell.blocks for cell in found)
    return np.asarray(np.mean([measure(cell.times)[:rounds] for cell in found], axis=0))


def by_page(found: Sequence[Cell], measure: Callable[[Cell], float]) -> Values:
    """Return the mean of a measure over the cells of each page."""
    pages: dict[str, list[float]] = {}
    for cell in found:
        pages.setdefault(cell.page, []).append(measure(cell))
    return np.array([np.mean(values) for values in pages.values()])


def select(found: Iterable[Measured], where: Where, unless: Where | None = None) -> list[Measured]:
    """Return the cells that match all of `where`, and do not match all of `unless`."""
    return [
        cell
        for cell in found
        if fits(cell.field, where) and not (unless and fits(cell.field, unless))
    ]


def fits(field: Callable[[str], object], where: Where) -> bool:
    """Return whether the fields match all of `where`."""
    return all(_is(_called(field(name), name), wanted) for name, wanted in where.items())


def _called(value: object, name: str) -> object:
    """Return the value of a field. A page is called by its label, which has the name of the site
    that a fitted stand-in stands for."""
    return corpus.label(value) if name == "page" and isinstance(value, str) else value


def _is(value: object, wanted: Value) -> bool:
    if isinstance(wanted, list):
        return any(_matches(value, one) for one in wanted)
    return _matches(value, wanted)


@lru_cache(maxsize=100_000)
def _matches(value: object, wanted: str | float) -> bool:
    if isinstance(wanted, str):
        return isinstance(value, str) and fnmatchcase(value, wanted)
    return isinstance(value, int | float) and isclose(value, wanted, rel_tol=1e-3)
