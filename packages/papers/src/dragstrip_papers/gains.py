"""Defines wolsing2019's predicates: gains of means over a corpus of pages. Negative gains mean
faster."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import inf, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct, structs

from dragstrip_papers.answer import Answer, Band, all_of, incomplete, settle
from dragstrip_papers.base import Predicate, named, not_run, shorter
from dragstrip_papers.cells import Cell, Statistic, Where, aligned, select
from dragstrip_papers.estimate import Estimate, Mean, words
from dragstrip_papers.measured import Evidence, Values
from dragstrip_papers.populations import Population, Sample, estimate, summed
from dragstrip_papers.shares import doubt, settle_share
from dragstrip_papers.stats.anova_counts import AnovaCounts, Counts, anova_counts

Scale = Literal["gain", "ms"]


def difference_of(
    found: Sequence[Cell],
    a: str,
    ref: str,
    scale: Scale,
    statistic: Statistic,
    population: Population,
) -> Estimate:
    """Estimate `a` minus `ref`, in ms or as a share of `ref`."""
    if scale == "gain":
        return estimate(
            found,
            lambda times: times[a] / times[ref] - 1,
            lambda times: gain_of_means(times[a], times[ref]),
            statistic,
            population,
        )

    def apart(times: Mapping[str, Values]) -> Values:
        return times[a] - times[ref]

    return estimate(found, apart, apart, statistic, population)


def gain_of_means(a: Values, ref: Values) -> Values:
    """Return values whose mean is the gain of the means, and whose spread is that of the gain
    (delta method)."""
    gain = float(a.mean() / ref.mean())
    return np.asarray(gain - 1 + (a - gain * ref) / ref.mean())


class Gain(Predicate, kw_only=True, frozen=True):
    """States the mean over the cells of (mean a - mean ref) / mean ref (`stats.wolsing_gain`)."""

    a: str
    ref: str
    at_least: float = -inf
    at_most: float = inf
    statistic: Statistic = "mean"

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.ref)
        if not found:
            return not_run([self.a, self.ref], self.loads)
        got = difference_of(found, self.a, self.ref, "gain", self.statistic, self.population)
        answer = settle(got, Band(self.at_least, self.at_most))
        return incomplete(answer, len(found), self.cells)


class MeanDelta(Predicate, kw_only=True, frozen=True):
    """States the mean over the cells of mean a - mean ref, in ms."""

    a: str
    ref: str
    at_least: float = -inf
    at_most: float = inf
    statistic: Statistic = "mean"

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.ref)
        if not found:
            return not_run([self.a, self.ref], self.loads)
        got = difference_of(found, self.a, self.ref, "ms", self.statistic, self.population)
        answer = settle(got, Band(self.at_least, self.at_most), unit="ms")
        return incomplete(answer, len(found), self.cells)


class Term(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    a: str
    ref: str
    metric: str
    where: Where = {}


class MagnitudeOrder(Predicate, kw_only=True, frozen=True):
    """States that each term is a negative gain, larger in size than the next term, on the same
    pages. So a term lies below the next one, and below the next one's opposite. Gains are of
    means."""

    terms: list[Term]
    scale: Scale = "gain"
    statistic: Statistic = "mean"

    def answer(self, evidence: Evidence) -> Answer:
        reached = self.reached(evidence)
        found = [
            aligned(select(reached, t.where), [t.ref, t.a], t.metric, self.loads)
            for t in self.terms
        ]
        pages = sorted(set.intersection(*({c.page for c in side} for side in found)))
        if not pages:
            return not_run([self.terms[0].a, self.terms[0].ref], self.loads)
        sizes = [
            [self._size(term, cell) for cell in sorted(side, key=_page) if cell.page in pages]
            for term, side in zip(self.terms, found, strict=True)
        ]
        answers = []
        for more, less in pairwise(sizes):
            for sign, name in ((1, "ahead of the next by"), (-1, "ahead of its opposite by")):
                got = summed(_apart(more, less, sign, pages), self.population)
                answers.append(named(settle(got, Band(low=0)), f"{name} "))
        weight = 1 / len(pages)
        claimed = " > ".join(
            words(summed([Sample(v, weight, str(i)) for i, v in enumerate(size)], self.population))
            for size in sizes
        )
        whole = named(shorter(all_of(answers), answers), f"claimed sizes {claimed}; ")
        return incomplete(whole, len(pages), self.cells)

    def _size(self, term: Term, cell: Cell) -> Values:
        a, ref = cell.times[term.a], cell.times[term.ref]
        return gain_of_means(a, ref) if self.scale == "gain" else a - ref


def _page(cell: Cell) -> str:
    return cell.page


def _apart(
    more: Sequence[Values], less: Sequence[Values], sign: int, pages: Sequence[str]
) -> list[Sample]:
    """Return by how much one gain leads another, or the other's opposite (`sign` -1), page by page.
    Loads of the two share rounds, and often stacks as well."""
    found = []
    for page, a, b in zip(pages, more, less, strict=True):
        rounds = min(len(a), len(b))
        values = sign * b[:rounds] - a[:rounds]
        found.append(Sample(values, 1 / len(pages), page))
    return found


LEAST_LOADS = 2
"""Fewest loads of a page for an ANOVA, which needs a variance within the page."""


class Allowed(Struct, frozen=True, forbid_unknown_fields=True):
    """Allowed numbers of pages, including the tolerance."""

    low: int = 0
    high: int = 10_000


class AnovaCount(Predicate, kw_only=True, frozen=True):
    """States the number of pages on which `a` is significantly faster, slower, or neither
    (`stats.anova_counts`).

    The number of tests that reject depends on the number of loads. So only the first `loads` loads
    of every page count, which is the paper's own number. Each of `pairs` (a, ref) on each metric
    and network must hold. Pages that were not run may fall any way. `cells` is the paper's number
    of pages.
    """

    pairs: list[tuple[str, str]]
    networks: list[str]
    metrics: list[str]
    loads: int = 31
    faster: Allowed = Allowed()
    slower: Allowed = Allowed()
    none: Allowed = Allowed()

    def answer(self, evidence: Evidence) -> Answer:
        answers = [
            self._count(a, ref, network, metric, evidence)
            for a, ref in self.pairs
            for network in self.networks
            for metric in self.metrics
        ]
        return shorter(all_of(answers), answers)

    def _count(self, a: str, ref: str, network: str, metric: str, evidence: Evidence) -> Answer:
        there = select(self.reached(evidence), {"network": network})
        found = aligned(there, [ref, a], metric, max(LEAST_LOADS, self.loads))
        where = f"{a} against {ref}, {metric} on {network}: "
        if not found:
            return self._too_few(aligned(there, [ref, a], metric, LEAST_LOADS), a, ref, where)
        cut = [cell.first(self.loads) for cell in found]
        counts = _counts(cut, a, ref)
        told = (
            f"{where}faster, slower, neither on {_words(counts.printed)} of {len(cut)} pages "
            f"(Holm: {_words(counts.holm)})"
        )
        chances = _chances(cut, a, ref)
        answers = []
        for place, allowed in enumerate((self.faster, self.slower, self.none)):
            if allowed != Allowed():
                won = (counts.printed.faster, counts.printed.slower, counts.printed.none)[place]
                error = sqrt(sum(map(doubt, chances[:, place].tolist()))) / len(cut)
                share = Mean(won / len(cut), error, low=0, high=1)
                total = max(self.cells, len(cut))
                low, high = (allowed.low - 0.5) / total, (allowed.high + 0.5) / total
                answers.append(settle_share(share, len(cut), total, low, high))
        return structs.replace(all_of(answers), ours=told)

    def _too_few(self, found: Sequence[Cell], a: str, ref: str, where: str) -> Answer:
        if not found:
            return not_run([a, ref], self.loads)
        most = max(cell.blocks for cell in found)
        counts = _counts(found, a, ref).printed
        return Answer(
            verdict="open",
            ours=f"{where}{_words(counts)} of {len(found)} pages, from {most} loads at most",
            why=f"not comparable: the paper counts over {self.loads} loads a page",
        )


def _counts(found: Sequence[Cell], a: str, ref: str) -> AnovaCounts:
    return anova_counts({c.page: (c.times[ref].tolist(), c.times[a].tolist()) for c in found})


def _chances(found: Sequence[Cell], a: str, ref: str) -> Values:
    """Return the probabilities that the test finds `a` faster, slower or neither, if the loads were
    made again: one row per cell, all with the same number of loads."""
    from scipy.special import stdtr, stdtrit

    x, y = (np.array([cell.times[s] for cell in found]) for s in (a, ref))
    n = x.shape[1]
    freedom = 2 * n - 2
    error = np.sqrt((x.var(axis=1, ddof=1) + y.var(axis=1, ddof=1)) / n)
    bar = float(stdtrit(freedom, 0.995))
    apart = x.mean(axis=1) - y.mean(axis=1)
    t = np.where(error > 0, apart / np.where(error > 0, error, 1.0), 0.0)
    faster, slower = stdtr(freedom, -t - bar), stdtr(freedom, t - bar)
    neither = np.maximum(1 - faster - slower, 0.0)  # rounding may leave less than none
    return np.column_stack([faster, slower, neither])


def _words(counts: Counts) -> str:
    return f"{counts.faster}, {counts.slower}, {counts.none}"
