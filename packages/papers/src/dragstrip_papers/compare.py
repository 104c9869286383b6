"""Defines predicates on the ratio of two stacks, b / a, which is below 1 if b is faster."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, pairwise, product
from math import inf, log

import numpy as np

from dragstrip.pages import corpus
from dragstrip.stats.block_ratio import log_ratios
from dragstrip_papers.answer import (
    Answer,
    Band,
    all_of,
    any_of,
    every_one,
    incomplete,
    judged,
    settle,
)
from dragstrip_papers.base import Predicate, margin_band, named, not_run, shorter
from dragstrip_papers.cells import Cell, Statistic, Where, aligned, by_round, select
from dragstrip_papers.estimate import LEVEL, Estimate, Mean, Typical, words
from dragstrip_papers.measured import Evidence, Values
from dragstrip_papers.populations import Population, estimate, evenly, summed

Rows = Values | Sequence[Sequence[float]]
DESIGN = ("rate_mbps", "rtt_ms", "loss", "objects", "object_bytes")
LEAST_PAGES = 8
"""Fewest pages for a rank correlation with a useful interval."""
LEAST_STRATA = 5


def ratio_of(
    found: Sequence[Cell], a: str, b: str, statistic: Statistic, population: Population = "these"
) -> Estimate:
    """Estimate the ratio b / a over these cells."""
    return estimate(found, _each(a, b), _of_means(a, b), statistic, population, ratio=True)


def _each(a: str, b: str) -> Callable[[Mapping[str, Values]], Values]:
    return lambda times: log_ratios(times[a], times[b])


def _of_means(a: str, b: str) -> Callable[[Mapping[str, Values]], Values]:
    """Return values whose mean is ln(mean b / mean a), and whose spread is that of the ratio (delta
    method)."""

    def values(times: Mapping[str, Values]) -> Values:
        mean_a, mean_b = float(times[a].mean()), float(times[b].mean())
        return np.asarray(log(mean_b / mean_a) + times[b] / mean_b - times[a] / mean_a)

    return values


def _centres(cell: Cell, a: str, b: str, statistic: Statistic) -> float:
    return log(cell.centre(b, statistic) / cell.centre(a, statistic))


class Ratio(Predicate, kw_only=True, frozen=True):
    """States that b / a lies between two limits: over all cells together, or with `each` in every
    cell.

    With `each`, the claim holds if it is shown in all cells. One cell that is shown to break it
    contradicts the claim, after correction for the number of cells. `same` is the margin within
    which a claimed difference counts as none.
    """

    a: str
    b: str
    at_least: float = 0.0
    at_most: float = inf
    each: bool = False
    same: float | None = None

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.b)
        if not found:
            return not_run([self.a, self.b], self.loads)
        if not self.each:
            return incomplete(self._settle(found), len(found), self.cells)
        answers = [
            named(self._settle([c]), f"{corpus.label(c.page)} on {c.network}: ") for c in found
        ]
        whole = shorter(every_one(answers), answers)
        return incomplete(whole, len(found), self.cells, universal=True)

    def _settle(self, found: Sequence[Cell]) -> Answer:
        got = ratio_of(found, self.a, self.b, self.statistic, self.population)
        low = self.at_least if self.at_least > 0 else -inf
        return settle(got, Band(low, self.at_most), same=margin_band(self.same))


class Equal(Predicate, kw_only=True, frozen=True):
    """States that all pairs of stacks are the same within a margin, in every cell."""

    stacks: list[str]
    margin: float

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, *self.stacks)
        if not found:
            return not_run(self.stacks, self.loads)
        cells = [self._cell(cell) for cell in found]
        whole = shorter(every_one(cells), cells)
        return incomplete(whole, len(found), self.cells, universal=True)

    def _cell(self, cell: Cell) -> Answer:
        band = margin_band(self.margin) or Band()
        answers = []
        for a, b in combinations(self.stacks, 2):
            got = ratio_of([cell], a, b, self.statistic)
            answers.append(
                named(
                    settle(got, band), f"{b} / {a}, {corpus.label(cell.page)} on {cell.network}: "
                )
            )
        return all_of(answers)


class Ordering(Predicate, kw_only=True, frozen=True):
    """States that every stack of a group is faster than every stack of the next group, over all
    cells together.

    With `alike`, the stacks inside a group are the same within that margin. With several metrics,
    all must agree.
    """

    groups: list[list[str]]
    alike: float | None = None
    metrics: tuple[str, ...] = ()
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
        return shorter(all_of(answers), answers, most=12)

    def _ratio(self, a: str, b: str, metric: str, evidence: Evidence) -> Answer:
        ratio = Ratio(**self.base(metric), a=a, b=b, at_most=1, same=self.same)
        return named(ratio.answer(evidence), f"{b} / {a}, {metric}: ")

    def _alike(self, group: list[str], metric: str, evidence: Evidence) -> Answer:
        equal = Equal(**self.base(metric), stacks=group, margin=self.alike or 0.0)
        return equal.answer(evidence)


class RatioShift(Predicate, kw_only=True, frozen=True):
    """States how b / a changes from some cells to others: (b / a there) / (b / a here)."""

    a: str
    b: str
    here: Where
    there: Where
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        here, there = (self._side(evidence, side) for side in (self.here, self.there))
        if not here or not there:
            return not_run([self.a, self.b], self.loads)
        low = self.at_least if self.at_least > 0 else -inf
        answer = settle(self._shift(here, there), Band(low, self.at_most))
        return incomplete(answer, len(here) + len(there), self.cells)

    def _shift(self, here: Sequence[Cell], there: Sequence[Cell]) -> Estimate:
        if self.statistic == "mean":
            means = _of_means(self.a, self.b)
            apart = [*evenly(there, means), *evenly(here, means, -1)]
            return summed(apart, self.population, ratio=True)
        units = (by_round(side, _each(self.a, self.b)) for side in (here, there))
        shift = zip(*units, strict=False)  # as many rounds as both sides have
        return Typical(tuple(t - h for h, t in shift), ratio=True)

    def _side(self, evidence: Evidence, side: Where) -> list[Cell]:
        there = select(self.reached(evidence), side)
        return aligned(there, (self.a, self.b), self.metric, self.loads)


class MonotoneIn(Predicate, kw_only=True, frozen=True):
    """States that b / a rises or falls with a factor, by the mean of Spearman's rho over strata, in
    the typical round.

    Cells of a stratum share all other factors, so that other effects of a factorial design do not
    hide the factor's. The claim is about these very cells, so only their loads are random, and the
    interval is over rounds. An interval over strata would be wrong: strata that differ in one
    factor share the peculiarities of their pages, so their errors are not independent. The noise of
    single loads weakens a correlation but never reverses it.
    """

    a: str
    b: str
    factor: str
    rising: bool

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.b)
        strata: dict[tuple[object, ...], list[Cell]] = {}
        for cell in found:
            key = (cell.connection, *(cell.factors.get(f) for f in DESIGN if f != self.factor))
            strata.setdefault(key, []).append(cell)
        groups = [g for g in strata.values() if len({c.factors[self.factor] for c in g}) > 1]
        if len(groups) < LEAST_STRATA:
            return not_run([self.a, self.b], self.loads)
        got = Typical(self._mean_rhos(groups, min(cell.blocks for g in groups for cell in g)))
        answer = settle(got, Band(low=0) if self.rising else Band(high=0))
        told = named(answer, f"mean rho over {len(groups)} strata of {len(found)} cells: ")
        return incomplete(told, len(found), self.cells)

    def _mean_rhos(self, strata: Sequence[Sequence[Cell]], rounds: int) -> list[float]:
        """Return the mean correlation over the strata, round by round."""
        sizes: dict[int, list[Sequence[Cell]]] = {}
        for group in strata:
            sizes.setdefault(len(group), []).append(group)
        total = np.zeros(rounds)
        for size, groups in sizes.items():
            levels = np.array([[cell.factors[self.factor] for cell in g] for g in groups])
            a, b = (
                np.array([[cell.times[s][:rounds] for cell in g] for g in groups])
                for s in (self.a, self.b)
            )
            ratios = log_ratios(a.ravel(), b.ravel()).reshape(a.shape)  # axes: stratum, cell, round
            rows = np.moveaxis(ratios, 2, 0).reshape(-1, size)
            rhos = spearman(np.tile(levels, (rounds, 1)), rows)
            total += np.array([rho or 0.0 for rho in rhos]).reshape(rounds, -1).sum(axis=1)
        mean: list[float] = (total / len(strata)).tolist()
        return mean


class Correlation(Predicate, kw_only=True, frozen=True):
    """States that the pages' b / a on one network correlate with those on another network, by
    Spearman's rho over pages.

    If several other networks are named, one correlation is enough.
    """

    a: str
    b: str
    others: list[Where]
    at_least: float
    population: Population = "pages"

    def answer(self, evidence: Evidence) -> Answer:
        mine = self._by_page(evidence, self.where)
        answers = []
        for other in self.others:
            theirs = self._by_page(evidence, other)
            both = sorted(mine.keys() & theirs.keys())
            if len(both) >= LEAST_PAGES:
                got = correlation([mine[p] for p in both], [theirs[p] for p in both])
                found = named(settle(got, Band(self.at_least)), f"rho over {len(both)} pages: ")
                answers.append(incomplete(found, len(both), self.cells))
        if not answers:
            return not_run([self.a, self.b], self.loads)
        return any_of(answers)

    def _by_page(self, evidence: Evidence, where: Where) -> Mapping[str, float]:
        there = aligned(select(evidence.cells, where), (self.a, self.b), self.metric, self.loads)
        return {c.page: _centres(c, self.a, self.b, self.statistic) for c in there}


class SameRanking(Predicate, kw_only=True, frozen=True):
    """States that no two stacks change places from some loads to others, beyond the margin
    `same`."""

    stacks: list[str]
    here: Where
    there: Where
    same: float = 0.05

    def answer(self, evidence: Evidence) -> Answer:
        reached = self.reached(evidence)
        sides = [
            aligned(select(reached, side), self.stacks, self.metric, self.loads)
            for side in (self.here, self.there)
        ]
        if not all(sides):
            return not_run(self.stacks, self.loads)
        answers = [self._pair(a, b, sides) for a, b in combinations(self.stacks, 2)]
        return incomplete(all_of(answers), sum(map(len, sides)), self.cells)

    def _pair(self, a: str, b: str, sides: Sequence[list[Cell]]) -> Answer:
        """Return whether the two stacks keep their order. It holds if b is not behind on both
        sides, or not ahead on both; it fails if b is behind on one side and ahead on the other.
        Each of the two can happen in two ways, so p is doubled."""
        one, other = (ratio_of(side, a, b, self.statistic) for side in sides)
        low, high = 1 / (1 + self.same), 1 + self.same
        ahead = max(r.p_below(high) for r in (one, other))
        behind = max(r.p_above(low) for r in (one, other))
        flips = [max(r.p_below(low), s.p_above(high)) for r, s in ((one, other), (other, one))]
        answer = Answer(
            verdict="open",
            ours=f"{b} / {a}: {words(one)} and {words(other)}",
            why="an order is not clear on its own",
            holds=min(1.0, 2 * min(ahead, behind)),
            fails=min(1.0, 2 * min(flips)),
            floor=max(one.floor, other.floor),
        )
        return judged(answer)


_DIGITS = 9
"""Decimals to which values are rounded before they are ranked: what differs by less is a tie that
arithmetic broke."""


def spearman(x: Rows, y: Rows) -> list[float | None]:
    """Return the correlation of each row of x with the same row of y; None if one of them does not
    vary."""
    from scipy.stats import rankdata  # slow to import

    a, b = (rankdata(np.round(rows, _DIGITS), axis=1) for rows in (x, y))
    a, b = (ranks - ranks.mean(axis=1, keepdims=True) for ranks in (a, b))
    apart = (a * b).sum(axis=1)
    size = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return [float(top / under) if under else None for top, under in zip(apart, size, strict=True)]


class Rho(Mean, frozen=True):
    """A rank correlation, whose interval is Fisher's z."""

    def interval(self) -> tuple[float, float]:
        half = self._quantile((1 + LEVEL) / 2) * self.error
        z = np.arctanh(self.value)
        return float(np.tanh(z - half)), float(np.tanh(z + half))

    def p_above(self, point: float) -> float:
        return self._tail(float(np.arctanh(self.value) - np.arctanh(point)))

    def p_below(self, point: float) -> float:
        return self._tail(float(np.arctanh(point) - np.arctanh(self.value)))


def correlation(x: Values | Sequence[float], y: Values | Sequence[float]) -> Rho:
    """Return Spearman's correlation, with the standard error of Bonett and Wright, Psychometrika 65
    (2000), 23-28."""
    (found,) = spearman([list(x)], [list(y)])
    rho = float(np.clip(found or 0.0, -0.999999, 0.999999))
    return Rho(rho, float(np.sqrt((1 + rho**2 / 2) / (len(x) - 3))))
