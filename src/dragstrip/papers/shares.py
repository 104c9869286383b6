"""Predicates that count cells, as biswal2016 does, or take the most extreme one."""

from collections.abc import Sequence
from math import inf, sqrt

import numpy as np
from msgspec import structs

from dragstrip.papers.answer import Answer, Band, incomplete, judged, settle
from dragstrip.papers.base import Predicate, named, not_run, sized
from dragstrip.papers.cells import Cell, Statistic, Where, aligned, select
from dragstrip.papers.compare import ratio_of
from dragstrip.papers.estimate import Estimate, Greatest, Mean
from dragstrip.papers.measured import Evidence, Values

LEAST_LOADS = 2
"""With one load of a cell nothing is known of its noise."""


class FasterShare(Predicate, kw_only=True, frozen=True):
    """Share of cells in which `a` is faster than every one of `than` (`stats.biswal_share`).

    The cells are the claim's own, so what could have come out otherwise are those whose loads do
    not tell the stacks apart. Cells that were not run could all fall either way.
    """

    a: str
    than: list[str]
    at_least: float = 0.0
    at_most: float = 1.0
    take: int | None = None
    """Only the first so many loads of a cell (biswal2016: 5)."""

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
        return named(answer, f"{round(value * len(found))} of {len(found)} cells, share ")


def settle_share(share: Mean, have: int, cells: int, at_least: float, at_most: float) -> Answer:
    """Of all `cells` a claim is about: those that are missing could fall either way."""
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
    """`a` wins at least as large a share of the cells `more` as of the cells `less`."""

    a: str
    than: list[str]
    more: Where
    less: Where
    same: float | None = None
    """Shares that differ by less are no difference."""
    take: int | None = None

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
    """The greatest b / a over all cells, stacks `b` and metrics."""

    a: str
    b: list[str]
    metrics: tuple[str, ...] = ()
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        parts: list[Estimate] = []
        names = []
        standin = False
        for metric in self.metrics or [self.metric]:
            for cell in self.found(evidence, self.a, *self.b, metric=metric):
                standin = standin or cell.standin
                for b in self.b:
                    parts.append(ratio_of([cell], self.a, b, self.statistic))
                    names.append(f"{b} / {self.a}, {metric}, {cell.page} on {cell.network}")
        have = len(parts) // (len(self.b) * len(self.metrics or [self.metric]))
        if not parts:
            return not_run([self.a, *self.b], self.loads)
        got = Greatest(parts)
        band = Band(self.at_least if self.at_least > 0 else -inf, self.at_most)
        answer = sized(got, band, neutral=1, standin=standin)
        where = names[int(np.argmax([part.value for part in parts]))]
        return incomplete(named(answer, f"{where}: "), have, self.cells)


def _wins(
    found: Sequence[Cell], a: str, than: Sequence[str], rule: "FasterShare | ShareOrder"
) -> tuple[float, float]:
    """Share of cells in which `a` is below all others, and its standard error."""
    won, noise = [], []
    for cell in found:
        cut = cell.first(rule.take) if rule.take else cell
        centre = {s: cut.centre(s, rule.statistic) for s in (a, *than)}
        won.append(all(centre[a] < centre[s] for s in than))
        sure = min(_chance(cut.times[s], cut.times[a], rule.statistic) for s in than)
        noise.append(doubt(sure))
    return float(np.mean(won)), sqrt(sum(noise)) / len(found)


def _chance(slow: Values, fast: Values, statistic: Statistic) -> float:
    """That the centre of such loads is above that of the others, were it all to be done again."""
    from scipy.special import stdtr

    n = min(len(slow), len(fast))
    if n < LEAST_LOADS:
        return 0.5
    a, b = np.log(slow), np.log(fast)
    centre = np.mean if statistic == "mean" else np.median
    wide = 1.0 if statistic == "mean" else sqrt(np.pi / 2)  # a median's standard error
    error = wide * sqrt((a.var(ddof=1) + b.var(ddof=1)) / n)
    apart = float(centre(a) - centre(b))
    if error == 0:
        return 0.5 if apart == 0 else float(apart > 0)
    return float(stdtr(2 * n - 2, apart / error))


def doubt(chance: float) -> float:
    """Variance of an outcome that has about this chance.

    An estimated chance p underrates p (1 - p) by a third where the truth is one half, and
    overrates it where it is not.
    """
    return 1.5 * chance * (1 - chance)
