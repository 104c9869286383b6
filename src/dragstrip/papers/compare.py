"""Predicates on the ratio of two stacks: b / a, below 1 where b is faster."""

from collections.abc import Mapping
from itertools import combinations, pairwise, product
from math import inf

import numpy as np
import polars as pl

from dragstrip.papers.answer import (
    Answer,
    Band,
    Estimate,
    Replicates,
    estimate,
    incomplete,
    settle,
    together,
)
from dragstrip.papers.base import Predicate, margin_band, not_run
from dragstrip.papers.cells import Cell, Over, Where, cells, censored_note, pooled, select
from dragstrip.papers.evidence import Evidence

DESIGN = ("rate_mbps", "rtt_ms", "loss", "objects", "object_bytes")
LEVEL = 0.95
EQUALITY = 2 * LEVEL - 1
"""Two one-sided tests at 5 % ask for the interval at 90 % (`dragstrip.stats.equivalence`)."""


class Ratio(Predicate, kw_only=True, frozen=True):
    """b / a lies between two limits: over all cells together, or (`each`) in every one.

    With `each` the intervals hold for all cells at once (Bonferroni). `same` is the margin within
    which a claimed difference counts as none.
    """

    a: str
    b: str
    at_least: float = 0.0
    at_most: float = inf
    each: bool = False
    same: float | None = None
    over: Over = "blocks"

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.b)
        if not found:
            return not_run([self.a, self.b], self.loads)
        groups = [[cell] for cell in found] if self.each else [found]
        level = 1 - (1 - LEVEL) / len(groups)
        same = margin_band(self.same) if self.same else None
        band = Band(self.at_least, self.at_most)
        answers = []
        for group in groups:
            logs, units = pooled(group, self._log, self.statistic, self.over)
            name = f"{group[0].page} on {group[0].network}: " if self.each else ""
            answer = settle(estimate(np.exp(logs), units, level), band, same=same)
            answers.append(_named(answer, name))
        note = censored_note(select(evidence.loads, self.where, self.unless), [self.a, self.b])
        return incomplete(_with(_shorter(answers), note), len(found), self.cells)

    def _log(self, centres: Mapping[str, Replicates]) -> Replicates:
        return np.asarray(np.log(centres[self.b] / centres[self.a]))


class Equal(Predicate, kw_only=True, frozen=True):
    """All pairs of stacks are the same within a margin, by two one-sided tests, in every cell."""

    stacks: list[str]
    margin: float

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, *self.stacks)
        if not found:
            return not_run(self.stacks, self.loads)
        band = margin_band(self.margin)
        answers = []
        for i, cell in enumerate(found):
            centres = cell.centres(self.statistic, i)
            for a, b in combinations(self.stacks, 2):
                got = estimate(centres[b] / centres[a], cell.blocks, EQUALITY)
                name = f"{b} / {a}, {cell.page} on {cell.network}: "
                answers.append(_named(settle(got, band), name))
        return incomplete(_shorter(answers), len(found), self.cells)


class Ordering(Predicate, kw_only=True, frozen=True):
    """Every stack of a group is faster than every stack of the next; together over all cells.

    With `alike` the stacks inside a group are the same within that margin. Several metrics must
    all agree.
    """

    groups: list[list[str]]
    alike: float | None = None
    metrics: tuple[str, ...] = ()
    over: Over = "blocks"
    same: float | None = 0.05

    def answer(self, evidence: Evidence) -> Answer:
        answers = []
        for metric in self.metrics or [self.metric]:
            for quick, slow in pairwise(self.groups):
                answers += [self._ratio(a, b, metric, evidence) for b, a in product(quick, slow)]
            if self.alike is not None:
                answers += [
                    self._alike(group, metric, evidence) for group in self.groups if len(group) > 1
                ]
        return together(answers)

    def _ratio(self, a: str, b: str, metric: str, evidence: Evidence) -> Answer:
        ratio = Ratio(**self.base(metric), a=a, b=b, at_most=1, same=self.same, over=self.over)
        return _named(ratio.answer(evidence), f"{b} / {a}, {metric}: ")

    def _alike(self, group: list[str], metric: str, evidence: Evidence) -> Answer:
        equal = Equal(**self.base(metric), stacks=group, margin=self.alike or 0.0)
        return equal.answer(evidence)


class RatioShift(Predicate, kw_only=True, frozen=True):
    """How b / a itself changes from some cells to others: (b / a there) / (b / a here)."""

    a: str
    b: str
    here: Where
    there: Where
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        rows = select(evidence.loads, self.where, self.unless)
        sides = [
            cells(select(rows, side), (self.a, self.b), self.metric, self.loads)
            for side in (self.here, self.there)
        ]
        if not all(sides):
            return not_run([self.a, self.b], self.loads)
        (here, n), (there, m) = [
            pooled(side, lambda c: np.log(c[self.b] / c[self.a]), self.statistic, "blocks")
            for side in sides
        ]
        # The second side in another order: the two are independent samples.
        there = np.concatenate([there[:1], there[:0:-1]])
        found = estimate(np.exp(there - here), min(n, m))
        answer = settle(found, Band(self.at_least, self.at_most))
        return incomplete(answer, sum(len(side) for side in sides), self.cells)


class MonotoneIn(Predicate, kw_only=True, frozen=True):
    """b / a rises or falls with a factor: Spearman's rho over cells, other factors taken out.

    From each cell's log-ratio the mean of the cells that share all other factors is subtracted, so
    that a factorial design's other effects do not hide this one. Interval: Fisher's z.
    """

    a: str
    b: str
    factor: str
    rising: bool

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.b)
        strata: dict[tuple[float | None, ...], list[Cell]] = {}
        for cell in found:
            key = tuple(cell.factors.get(f) for f in DESIGN if f != self.factor)
            strata.setdefault(key, []).append(cell)
        levels, logs = [], []
        for group in strata.values():
            own = [_log_ratio(cell, self.a, self.b, self.statistic) for cell in group]
            if len({cell.factors[self.factor] for cell in group}) > 1:
                levels += [cell.factors[self.factor] for cell in group]
                logs += [value - float(np.mean(own)) for value in own]
        if len(logs) < 4:
            return not_run([self.a, self.b], self.loads)
        band = Band(0, 1) if self.rising else Band(-1, 0)
        return incomplete(_rank_answer(levels, logs, band, "rho"), len(found), self.cells)


class Correlation(Predicate, kw_only=True, frozen=True):
    """The pages' b / a on one network go with those on another: Spearman's rho over pages.

    With several others the best of them counts, as the claim names any.
    """

    a: str
    b: str
    others: list[Where]
    at_least: float

    def answer(self, evidence: Evidence) -> Answer:
        mine = self._by_page(evidence, self.where)
        answers = []
        for other in self.others:
            theirs = self._by_page(evidence, other)
            both = sorted(mine.keys() & theirs.keys())
            if len(both) >= 4:
                found = _rank_answer(
                    [mine[p] for p in both], [theirs[p] for p in both], Band(self.at_least), "rho"
                )
                answers.append(incomplete(found, len(both), self.cells))
        if not answers:
            return not_run([self.a, self.b], self.loads)
        return next((a for a in answers if a.verdict == "reproduced"), together(answers))

    def _by_page(self, evidence: Evidence, where: Where) -> dict[str, float]:
        rows = select(evidence.loads, where)
        return {
            cell.page: _log_ratio(cell, self.a, self.b, self.statistic)
            for cell in cells(rows, (self.a, self.b), self.metric, self.loads)
        }


class SameRanking(Predicate, kw_only=True, frozen=True):
    """No two stacks change places from some loads to others, beyond the margin `same`."""

    stacks: list[str]
    here: Where
    there: Where
    same: float = 0.05

    def answer(self, evidence: Evidence) -> Answer:
        rows = select(evidence.loads, self.where, self.unless)
        sides = [
            cells(select(rows, side), self.stacks, self.metric, self.loads)
            for side in (self.here, self.there)
        ]
        if not all(sides):
            return not_run(self.stacks, self.loads)
        answers = [self._pair(a, b, sides) for a, b in combinations(self.stacks, 2)]
        return incomplete(together(answers), sum(map(len, sides)), self.cells)

    def _pair(self, a: str, b: str, sides: list[list[Cell]]) -> Answer:
        ratios = []
        for side in sides:
            logs, units = pooled(side, lambda c: np.log(c[b] / c[a]), self.statistic, "blocks")
            ratios.append(estimate(np.exp(logs), units))
        words = f"{b} / {a}: {ratios[0].words()} and {ratios[1].words()}"
        same = margin_band(self.same)
        if any(all(r.within(*s) for r in ratios) for s in ((0, same.high), (same.low, inf))):
            return Answer(verdict="reproduced", ours=words)
        for one, other in (ratios, ratios[::-1]):
            if one.high < 1 < other.low:
                return Answer(verdict="contradicted", ours=words)
        return Answer(
            verdict="not decided at this scale", ours=words, why="an order is not clear on its own"
        )


def _log_ratio(cell: Cell, a: str, b: str, statistic: str) -> float:
    reducer = np.mean if statistic == "mean" else np.median
    return float(np.log(reducer(cell.times[b]) / reducer(cell.times[a])))


def _rank_answer(x: list[float], y: list[float], band: Band, name: str) -> Answer:
    ranks = pl.DataFrame({"x": x, "y": y}).select(pl.corr("x", "y", method="spearman"))
    rho = float(ranks.item())
    z = np.arctanh(np.clip(rho, -0.999999, 0.999999))
    half = 1.96 / np.sqrt(max(len(x) - 3, 1))
    found = Estimate(rho, float(np.tanh(z - half)), float(np.tanh(z + half)))
    return _named(settle(found, band), f"{name} over {len(x)} cells: ")


def _named(answer: Answer, name: str) -> Answer:
    return Answer(
        verdict=answer.verdict, ours=f"{name}{answer.ours}" if answer.ours else "", why=answer.why
    )


def _with(answer: Answer, note: str) -> Answer:
    why = "; ".join(filter(None, (answer.why, note)))
    return Answer(verdict=answer.verdict, ours=answer.ours, why=why)


def _shorter(answers: list[Answer], most: int = 4) -> Answer:
    """As `together`, but of many parts only the first of those that settle it are told."""
    whole = together(answers)
    telling = [a for a in answers if a.verdict == whole.verdict]
    more = f"; and {len(answers) - most} more" if len(answers) > most else ""
    told = (answers if len(answers) <= most else telling)[:most]
    return Answer(verdict=whole.verdict, ours="; ".join(a.ours for a in told) + more, why=whole.why)
