"""Predicates that count cells, as biswal2016 does, or take the most extreme one."""

from math import inf

import numpy as np

from dragstrip.papers.answer import Answer, Band, Estimate, Replicates, estimate, incomplete, settle
from dragstrip.papers.base import Predicate, not_run
from dragstrip.papers.cells import Cell, Where, cells, select
from dragstrip.papers.evidence import Evidence


class FasterShare(Predicate, kw_only=True, frozen=True):
    """Share of cells in which `a` is faster than every one of `than` (`stats.biswal_share`).

    Cells that were not run could all fall either way: the interval grows by them.
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
        got = share(found, self.a, self.than, self)
        cells_ = max(self.cells, len(found))
        missing = cells_ - len(found)
        low = got.low * len(found) / cells_
        high = (got.high * len(found) + missing) / cells_
        settled = settle(Estimate(got.value, low, high), Band(self.at_least, self.at_most))
        why = f"{missing} of its {cells_} cells are not run" if missing else settled.why
        words = f"{round(got.value * len(found))} of {len(found)} cells, share {settled.ours}"
        return Answer(verdict=settled.verdict, ours=words, why=why)


class ShareOrder(Predicate, kw_only=True, frozen=True):
    """`a` wins at least as large a share of the cells `more` as of the cells `less`."""

    a: str
    than: list[str]
    more: Where
    less: Where
    slack: float = 0.0
    take: int | None = None

    def answer(self, evidence: Evidence) -> Answer:
        rows = select(evidence.loads, self.where, self.unless)
        sides = [
            cells(select(rows, side), (self.a, *self.than), self.metric, self.loads)
            for side in (self.more, self.less)
        ]
        have = min(map(len, sides))
        if not have:
            return not_run([self.a, *self.than], self.loads)
        more, less = [_wins(side, self.a, self.than, self) for side in sides]
        found = estimate(more - less, min(cell.blocks for side in sides for cell in side))
        answer = settle(found, Band(-self.slack, 1))
        words = f"{more[0]:.0%} against {less[0]:.0%} of the cells, difference {answer.ours}"
        answer = Answer(verdict=answer.verdict, ours=words, why=answer.why)
        return incomplete(answer, have, self.cells)


class Extreme(Predicate, kw_only=True, frozen=True):
    """The greatest b / a over all cells, stacks `b` and metrics."""

    a: str
    b: list[str]
    metrics: tuple[str, ...] = ()
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        ratios: list[Replicates] = []
        names, blocks = [], []
        for metric in self.metrics or [self.metric]:
            for i, cell in enumerate(self.found(evidence, self.a, *self.b, metric=metric)):
                centres = cell.centres(self.statistic, i)
                for b in self.b:
                    ratios.append(centres[b] / centres[self.a])
                    names.append(f"{b} / {self.a}, {metric}, {cell.page} on {cell.network}")
                    blocks.append(cell.blocks)
        have = len(ratios) // (len(self.b) * len(self.metrics or [self.metric]))
        if not ratios:
            return not_run([self.a, *self.b], self.loads)
        got = estimate(np.max(ratios, axis=0), min(blocks))
        # A maximum can only grow with the cells that are missing.
        got = Estimate(got.value, got.low, got.high if have >= self.cells else inf)
        answer = settle(got, Band(self.at_least, self.at_most))
        where = names[int(np.argmax([r[0] for r in ratios]))]
        missing = f"{have} of its {self.cells} cells are run" if have < self.cells else ""
        return Answer(
            verdict=answer.verdict, ours=f"{answer.ours} ({where})", why=missing or answer.why
        )


def share(found: list[Cell], a: str, than: list[str], rule: FasterShare) -> Estimate:
    wins = _wins(found, a, than, rule)
    got = estimate(wins, min(cell.blocks for cell in found))
    # Resampling pulls cells without a difference towards one half; the count itself stands.
    return Estimate(got.value, min(got.low, got.value), max(got.high, got.value))


def _wins(found: list[Cell], a: str, than: list[str], rule: FasterShare | ShareOrder) -> Replicates:
    """Share of cells in which `a` is below all others: of the sample, then of resamples."""
    won = []
    for i, cell in enumerate(found):
        centres = (cell.first(rule.take) if rule.take else cell).centres(rule.statistic, i)
        won.append(np.all([centres[a] < centres[b] for b in than], axis=0))
    return np.asarray(np.mean(won, axis=0))
