"""Ranks entries in a discipline, only as far as the data allow.

Each block gives one value per pair of entries: the mean over cells of ln(b / a), so all cells have
equal weight. Student's t gives interval and p value (`dragstrip.stats.log_ratio`), for these pages
and networks. An entry is ahead of another if it is shown to be faster by more than 1 %, at 5 % with
Holm's correction over all pairs of the discipline. Its best rank is one more than the number of
entries shown to be ahead of it; its worst rank is one more than the number of entries not shown to
be behind it. So entries that the data do not separate share a rank.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp, log
from statistics import fmean, stdev
from typing import Literal

import numpy as np
import polars as pl
from msgspec import Struct, structs
from numpy.typing import NDArray

from dragstrip.league.plan import LEAST_RUNS
from dragstrip.model.study import Study
from dragstrip.results.bounds import in_doubt
from dragstrip.results.observed import Observed, observed
from dragstrip.stats.holm import holm
from dragstrip.stats.log_ratio import LogRatio, third_of_mean

ALPHA = 0.05
MATTERS = 0.01
"""Differences below this share do not separate ranks. In virtual time equal loads have no variance,
so even the smallest difference would be significant."""
GAP = 0.10
"""Share above which a difference from the leader that is shown calls for its cause."""


class Standing(Struct, frozen=True, kw_only=True):
    """One entry in one discipline."""

    name: str
    best: int | None
    """First rank that the data allow; None for an entry without a rank."""
    worst: int | None
    """Last rank that the data allow; None for an entry without a rank. The entry shares its rank if
    this differs from `best`."""
    value: float | None
    """Geometric mean of the metric over cells and blocks, in the metric's unit."""
    ratio: float | None
    """Geometric mean of the ratio to the leader: above 1, slower."""
    low: float | None = None
    high: float | None = None
    """Upper end of the 95 % interval of `ratio`; None for the leader, or with too few blocks."""
    blocks: int = 0
    visits: int = 0
    """Visits made, including those of rerun blocks."""
    invalid: int = 0
    censored: int = 0
    """Loads that failed or timed out; they count as the time limit."""
    said: str = ""
    """Why the entry has no rank; empty if it has one."""

    @property
    def rank(self) -> str:
        """The rank in words: ``2``, ``1 to 3``, or a dash."""
        if self.best is None:
            return "\N{EN DASH}"
        return f"{self.best}" if self.best == self.worst else f"{self.best} to {self.worst}"

    @property
    def gap(self) -> Literal["shown", "open", "none"]:
        """Whether the entry is more than `GAP` behind the leader: shown, not excluded (`open`), or
        excluded (`none`)."""
        if self.low is None or self.high is None:
            return "none"
        return "shown" if self.low > 1 + GAP else "open" if self.high > 1 + GAP else "none"


class Pair(Struct, frozen=True):
    """Entry b against entry a."""

    ratio: LogRatio
    doubted: bool = False
    """Whether invalid visits affect the two entries unequally, or affect most visits of one of
    them."""

    def p(self) -> float:
        """Return the two-sided p of the hypothesis that the entries differ by at most `MATTERS`."""
        if self.doubted or self.ratio.n < LEAST_RUNS:
            return 1.0
        slower, faster = self.ratio.p_above(1 + MATTERS), self.ratio.p_below(1 / (1 + MATTERS))
        return min(1.0, 2 * min(slower, faster))


def shown_ahead(pairs: Mapping[tuple[str, str], Pair]) -> set[tuple[str, str]]:
    """Return the pairs (ahead, behind) that the data separate. `pairs` has all pairs by the names
    of a and b."""
    adjusted = holm([pair.p() for pair in pairs.values()])
    return {
        (a, b) if pair.ratio.mean > 0 else (b, a)
        for ((a, b), pair), p in zip(pairs.items(), adjusted, strict=True)
        if p < ALPHA
    }


def pair_of(values: Sequence[float], *, doubted: bool = False) -> Pair:
    """Return the pair whose blocks have these values of ln(b / a)."""
    n = len(values)
    error = stdev(values) / n**0.5 if n > 1 else None
    return Pair(LogRatio(fmean(values), error, n - 1, n, third_of_mean(values)), doubted)


def standings(study: Study, table: pl.LazyFrame, metric: str) -> list[Standing]:
    """Rank the entries, the leader first. `table` is the table that `observed` takes."""
    cells = list(observed(study, table))
    names = [s.name for s in study.stacks]
    pairs = {(a, b): _pair(cells, a, b, metric) for a, b in combinations(names, 2)}
    values = {name: _mean(cells, name, metric) for name in names}
    ahead = shown_ahead({key: pair for key, pair in pairs.items() if pair})
    there = [name for name in names if values[name] is not None]
    there.sort(key=lambda name: values[name] or 0.0)
    leader = there[0] if there else ""
    return [
        _standing(cells, name, leader, there, ahead, pairs, values)
        for name in (*there, *(n for n in names if values[n] is None))
    ]


def _standing(
    cells: Sequence[Observed],
    name: str,
    leader: str,
    there: Sequence[str],
    ahead: set[tuple[str, str]],
    pairs: Mapping[tuple[str, str], Pair | None],
    values: Mapping[str, float | None],
) -> Standing:
    made = pl.concat([cell.visits.select("stack", "valid", "outcome") for cell in cells])
    own = made.filter(pl.col("stack") == name)
    without = Standing(
        name=name,
        best=None,
        worst=None,
        value=None,
        ratio=None,
        visits=len(own),
        invalid=int((~own["valid"]).sum()),
        censored=int((own["outcome"] != "loaded").sum()),
        said="no block counts" if len(own) else "no visit",
    )
    if name not in there:
        return without
    found = _towards(pairs, leader, name)
    interval = found.ratio.interval() if found and found.ratio.n >= LEAST_RUNS else None
    return structs.replace(
        without,
        best=1 + sum((other, name) in ahead for other in there),
        worst=len(there) - sum((name, other) in ahead for other in there),
        value=values[name],
        ratio=1.0 if name == leader else found.ratio.value if found else None,
        low=interval[0] if interval else None,
        high=interval[1] if interval else None,
        blocks=min((len(cell.stacks[name]) for cell in cells), default=0),
        said="",
    )


def _towards(pairs: Mapping[tuple[str, str], Pair | None], leader: str, name: str) -> Pair | None:
    """Return the pair in the direction `name` / `leader`."""
    if name == leader:
        return None
    if pair := pairs.get((leader, name)):
        return pair
    pair = pairs.get((name, leader))
    if not pair:
        return None
    old = pair.ratio
    return Pair(LogRatio(-old.mean, old.error, old.freedom, old.n, -old.third), pair.doubted)


def _pair(cells: Sequence[Observed], a: str, b: str, metric: str) -> Pair | None:
    """Return ln(b / a) with one value per block index that counts in every cell; None if no index
    does."""
    by_cell = [_logs(cell, a, b, metric) for cell in cells]
    shared = [i for i in by_cell[0] if all(i in logs for logs in by_cell)] if by_cell else []
    if not shared:
        return None
    means = [fmean(logs[i] for logs in by_cell) for i in shared]
    return pair_of(means, doubted=any(in_doubt(cell, a, b) for cell in cells))


def _logs(cell: Observed, a: str, b: str, metric: str) -> dict[int, float]:
    of_a, of_b = cell.of(a, metric).values, cell.of(b, metric).values
    return {
        index: log(y / x)
        for index, x, y in zip(_indices(cell, a), of_a.tolist(), of_b.tolist(), strict=True)
        if x > 0 and y > 0
    }


def _indices(cell: Observed, stack: str) -> list[int]:
    """Return the index of each block that counts, in the order of the cell's values."""
    return [int(block.rpartition("|")[2]) for block in cell.stacks[stack]["block"]]


def _mean(cells: Sequence[Observed], name: str, metric: str) -> float | None:
    """Geometric mean over cells of the mean over blocks; None if a cell has no value."""
    logs = []
    for cell in cells:
        known: NDArray[np.float64] = cell.of(name, metric).known
        positive = known[known > 0]
        if not len(positive):
            return None
        logs.append(float(np.log(positive).mean()))
    return exp(fmean(logs)) if logs else None
