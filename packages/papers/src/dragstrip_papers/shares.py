"""Defines predicates that count cells, as biswal2016 does, or that take the most extreme cell."""

from collections.abc import Mapping, Sequence
from math import inf, sqrt
from typing import TypeVar

import numpy as np
from msgspec import structs

from dragstrip.pages import corpus
from dragstrip_papers.answer import Answer, Band, incomplete, judged, settle
from dragstrip_papers.base import Predicate, named, not_run
from dragstrip_papers.cells import Cell, Statistic, Where, aligned, select
from dragstrip_papers.compare import ratio_of
from dragstrip_papers.estimate import Estimate, Greatest, Mean
from dragstrip_papers.measured import Evidence, Values

Chance = TypeVar("Chance", float, Values)

LEAST_LOADS = 2
"""Fewest loads of a cell; one load does not show its noise."""


class FasterShare(Predicate, kw_only=True, frozen=True):
    """States the share of cells in which `a` is faster than every stack of `than`
    (`stats.biswal_share`).

    The claim is about these very cells, so only cells whose loads do not distinguish the stacks
    could fall the other way. Cells that were not run could all fall either way.
    """

    a: str
    than: list[str]
    at_least: float = 0.0
    at_most: float = 1.0
    take: int | None = None
    """Number of loads that decide a cell in the paper (biswal2016: 5). If there are more loads,
    each full set of that size decides separately, and the share is the mean over the sets."""

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, *self.than)
        if not found:
            return not_run([self.a, *self.than], self.loads)
        if min(cell.blocks for cell in found) < LEAST_LOADS:
            share = Mean(_wins(found, self.a, self.than, self)[0], inf, low=0, high=1)
            told = f"{round(share.value * len(found))} of {len(found)} cells"
            return Answer(verdict="open", ours=told, why="one load a cell has no noise to judge by")
        value, error = _wins(found, self.a, self.than, self)
        share = Mean(value, error, low=0, high=1)
        answer = settle_share(share, len(found), self.cells, self.at_least, self.at_most)
        sets = min(len(_sets(cell.blocks, self.take)) for cell in found)
        often = f", the mean of {sets} sets of {self.take} loads" if sets > 1 else ""
        return named(answer, f"{round(value * len(found))} of {len(found)} cells{often}, share ")


def settle_share(share: Mean, have: int, cells: int, at_least: float, at_most: float) -> Answer:
    """Settle a share of all `cells` that a claim is about. Cells that are missing could fall either
    way."""
    total = max(cells, have)
    missing, factor = total - have, total / have
    why = f"{missing} of its {total} cells are not run" if missing else ""
    low = at_least if at_least > 0 else -inf
    high = at_most if at_most < 1 else inf
    surely = Band(low * factor, high * factor - missing / have)
    possibly = Band(low * factor - missing / have, high * factor)
    holds = settle(share, surely, why=why)
    fails = settle(share, possibly).fails
    return judged(structs.replace(holds, verdict="open", why=why or holds.why, fails=fails))


class ShareOrder(Predicate, kw_only=True, frozen=True):
    """States that `a` wins at least as large a share of the cells `more` as of the cells `less`."""

    a: str
    than: list[str]
    more: Where
    less: Where
    same: float | None = None
    """Difference of shares below which they count as equal."""
    take: int | None = None
    """Number of loads that decide a cell, as in `FasterShare`."""

    def answer(self, evidence: Evidence) -> Answer:
        reached = self.reached(evidence)
        sides = [
            aligned(select(reached, side), (self.a, *self.than), self.metric, self.loads)
            for side in (self.more, self.less)
        ]
        have = min(map(len, sides))
        if not have:
            return not_run([self.a, *self.than], self.loads)
        (more, noise), (less, other) = [_wins(side, self.a, self.than, self) for side in sides]
        found = Mean(more - less, sqrt(noise**2 + other**2), low=-1, high=1)
        same = Band(-self.same, self.same) if self.same else None
        answer = settle(found, Band(low=0), same=same)
        told = named(answer, f"{more:.0%} against {less:.0%} of the cells, difference ")
        return incomplete(told, have, self.cells)


class Extreme(Predicate, kw_only=True, frozen=True):
    """States the greatest b / a over all cells, stacks `b` and metrics."""

    a: str
    b: list[str]
    metrics: tuple[str, ...] = ()
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        parts: list[Estimate] = []
        names = []
        for metric in self.metrics or [self.metric]:
            for cell in self.found(evidence, self.a, *self.b, metric=metric):
                for b in self.b:
                    parts.append(ratio_of([cell], self.a, b, self.statistic))
                    names.append(
                        f"{b} / {self.a}, {metric}, {corpus.label(cell.page)} on {cell.network}"
                    )
        have = len(parts) // (len(self.b) * len(self.metrics or [self.metric]))
        if not parts:
            return not_run([self.a, *self.b], self.loads)
        got = Greatest(parts)
        band = Band(self.at_least if self.at_least > 0 else -inf, self.at_most)
        answer = settle(got, band)
        where = names[int(np.argmax([part.value for part in parts]))]
        return incomplete(named(answer, f"{where}: "), have, self.cells)


def _wins(
    found: Sequence[Cell], a: str, than: Sequence[str], rule: "FasterShare | ShareOrder"
) -> tuple[float, float]:
    """Return the share of cells in which `a` is below all others, and the share's standard
    error."""
    won: list[float] = []
    noise: list[float] = []
    for group in _as_long(found):
        times = {s: np.array([cell.times[s] for cell in group]) for s in (a, *than)}
        sets = _sets(group[0].blocks, rule.take)
        tries = [_decided({s: t[:, own] for s, t in times.items()}, a, than, rule) for own in sets]
        won += np.mean([wins for wins, _ in tries], axis=0).tolist()
        noise += (np.sum([doubts for _, doubts in tries], axis=0) / len(sets) ** 2).tolist()
    return float(np.mean(won)), sqrt(sum(noise)) / len(found)


def _decided(
    times: Mapping[str, Values], a: str, than: Sequence[str], rule: "FasterShare | ShareOrder"
) -> tuple[Values, Values]:
    """Return whether `a` is below all others, and the variance of that result. `times` has one row
    per cell."""
    centre = {s: _centres(rows, rule.statistic) for s, rows in times.items()}
    sure = np.min([_chances(times[s], times[a], rule.statistic) for s in than], axis=0)
    return np.all([centre[a] < centre[s] for s in than], axis=0), doubt(sure)


def _sets(blocks: int, take: int | None) -> list[slice]:
    """Return the sets of loads that each decide a cell. Loads that do not fill a set are left
    out."""
    size = min(take or blocks, blocks)
    return [slice(i * size, (i + 1) * size) for i in range(blocks // size)]


def _as_long(found: Sequence[Cell]) -> list[list[Cell]]:
    """Group cells by their number of blocks."""
    groups: dict[int, list[Cell]] = {}
    for cell in found:
        groups.setdefault(cell.blocks, []).append(cell)
    return list(groups.values())


def _centres(rows: Values, statistic: Statistic) -> Values:
    return np.asarray((np.mean if statistic == "mean" else np.median)(rows, axis=1))


def _chances(slow: Values, fast: Values, statistic: Statistic) -> Values:
    """Return the chances that the centre of the loads `slow` is above that of the loads `fast`, if
    all were made again; one per cell."""
    from scipy.special import stdtr

    n = slow.shape[1]
    if n < LEAST_LOADS:
        return np.full(len(slow), 0.5)
    a, b = np.log(slow), np.log(fast)
    wide = 1.0 if statistic == "mean" else sqrt(np.pi / 2)  # factor of a median's standard error
    error = wide * np.sqrt((a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / n)
    apart = _centres(a, statistic) - _centres(b, statistic)
    none = error == 0
    chances = stdtr(2 * n - 2, apart / np.where(none, 1.0, error))
    return np.asarray(np.where(none, (np.sign(apart) + 1) / 2, chances))


def doubt(chance: Chance) -> Chance:
    """Return the variance of a result that has about this chance.

    With an estimated chance p, p (1 - p) is too small by a third if the true chance is one half,
    and too large otherwise.
    """
    return 1.5 * chance * (1 - chance)
