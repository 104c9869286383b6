"""wolsing2019's predicates: gains of means over a corpus of pages; negative means faster."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf, sqrt
from typing import Literal

import numpy as np
from msgspec import Struct, structs

from dragstrip_papers.answer import Answer, Band, all_of, incomplete, settle
from dragstrip_papers.base import PAGES_OWN, Predicate, named, not_run, shorter
from dragstrip_papers.cells import Cell, Over, Statistic, Where, aligned, by_page, by_round, select
from dragstrip_papers.estimate import Mean, Typical, mean_of, words
from dragstrip_papers.measured import Evidence, Values
from dragstrip_papers.shares import doubt, settle_share
from dragstrip_papers.stats.anova_counts import AnovaCounts, Counts, anova_counts

Scale = Literal["gain", "ms"]


def difference_of(
    found: Sequence[Cell], a: str, ref: str, scale: Scale, statistic: Statistic, over: Over
) -> Typical:
    """The difference a - ref in ms, or as a share of ref: of the typical page, or in the typical
    round."""

    def centres(cell: Cell) -> float:
        one, other = cell.centre(a, statistic), cell.centre(ref, statistic)
        return (one - other) / other if scale == "gain" else one - other

    if over == "pages":
        units = by_page(found, centres)
        return Typical(tuple(units), mean_of(units))
    if scale == "gain":
        units = by_round(found, lambda times: times[a] / times[ref] - 1)
        means = by_round(found, lambda times: _means(times[a], times[ref]))
    else:
        units = means = by_round(found, lambda times: times[a] - times[ref])
    return Typical(tuple(units), mean_of(means) if statistic == "mean" else None)


def _means(a: Values, ref: Values) -> Values:
    """Values whose mean is the gain of the means, with its spread (delta method)."""
    gain = float(a.mean() / ref.mean())
    return np.asarray(gain - 1 + (a - gain * ref) / ref.mean())


class Gain(Predicate, kw_only=True, frozen=True):
    """(mean a - mean ref) / mean ref (`stats.wolsing_gain`) of the typical page.

    The paper's number is the mean over pages; it must lie on the same side.
    """

    a: str
    ref: str
    at_least: float = -inf
    at_most: float = inf
    statistic: Statistic = "mean"
    over: Over = "pages"

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.ref)
        if not found:
            return not_run([self.a, self.ref], self.loads)
        got = difference_of(found, self.a, self.ref, "gain", self.statistic, self.over)
        answer = settle(got, Band(self.at_least, self.at_most))
        return incomplete(answer, len(found), self.cells)


class MeanDelta(Predicate, kw_only=True, frozen=True):
    """Mean over pages of mean a - mean ref in ms.

    Milliseconds belong to the paper's own pages. On stand-ins the same is judged as a gain, where
    the paper's other numbers imply one (`as_gain`); else only its sign can be refuted.
    """

    a: str
    ref: str
    published_ms: float
    rel: float
    as_gain: float | None = None
    statistic: Statistic = "mean"

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.ref)
        if not found:
            return not_run([self.a, self.ref], self.loads)
        ms = difference_of(found, self.a, self.ref, "ms", self.statistic, "pages")
        in_ms = settle(ms, _around(self.published_ms, self.rel), unit="ms")
        if not any(cell.standin for cell in found):
            return incomplete(in_ms, len(found), self.cells)
        gain = difference_of(found, self.a, self.ref, "gain", self.statistic, "pages")
        told = f"{words(gain)} as a gain; {in_ms.ours} on stand-ins"
        if self.as_gain is not None:
            answer = settle(gain, _around(self.as_gain, self.rel))
            return incomplete(structs.replace(answer, ours=told), len(found), self.cells)
        sign = settle(gain, Band(high=0) if self.published_ms < 0 else Band(low=0))
        if sign.verdict == "contradicted":
            answer = structs.replace(sign, ours=told, why="the sign differs")
        else:
            answer = Answer(verdict="not testable", ours=told, why=PAGES_OWN)
        return incomplete(answer, len(found), self.cells)


class Term(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    a: str
    ref: str
    metric: str
    where: Where = {}


class MagnitudeOrder(Predicate, kw_only=True, frozen=True):
    """Each term is a gain (negative) of greater size than the next term's, on the same pages.

    On each page, a term must be below the next one, and below the next one's opposite.
    """

    terms: list[Term]
    scale: Scale = "gain"
    statistic: Statistic = "mean"

    def answer(self, evidence: Evidence) -> Answer:
        reached = self.reached(evidence)
        found = [
            aligned(select(reached, t.where), [t.ref, t.a], t.metric, self.loads)
            for t in self.terms
        ]
        pages = set.intersection(*({c.page for c in side} for side in found))
        if not pages:
            return not_run([self.terms[0].a, self.terms[0].ref], self.loads)
        sizes = []
        for term, side in zip(self.terms, found, strict=True):
            kept = sorted((c for c in side if c.page in pages), key=lambda c: c.page)
            sizes.append(difference_of(kept, term.a, term.ref, self.scale, self.statistic, "pages"))
        answers = []
        for more, less in pairwise(sizes):
            for sign, name in ((1, "ahead of the next by"), (-1, "ahead of its opposite by")):
                units = [sign * b - a for a, b in zip(more.units, less.units, strict=True)]
                got = Typical(units, mean_of(units))
                answers.append(named(settle(got, Band(low=0)), f"{name} "))
        claimed = " > ".join(words(size) for size in sizes)
        whole = named(shorter(all_of(answers), answers), f"claimed sizes {claimed}; ")
        return incomplete(whole, len(pages), self.cells)


LEAST_LOADS = 2
"""Fewest loads of a page with which an ANOVA has a variance within it."""


class Allowed(Struct, frozen=True, forbid_unknown_fields=True):
    """Allowed numbers of pages, including the tolerance."""

    low: int = 0
    high: int = 10_000


class AnovaCount(Predicate, kw_only=True, frozen=True):
    """The number of pages on which `a` is significantly faster, slower, or neither
    (`stats.anova_counts`).

    The number of tests that reject depends on the number of loads. So only the first `loads` of
    every page count, which is the paper's own number. Each of `pairs` (a, ref) on each metric and
    network must hold. Pages that are not run may fall any way. `cells` is the paper's number of
    pages.
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
    """Probabilities that the test finds `a` faster, slower or neither, if the loads were made
    again: one row per cell, all with the same number of loads."""
    from scipy.special import stdtr, stdtrit

    x, y = (np.array([cell.times[s] for cell in found]) for s in (a, ref))
    n = x.shape[1]
    freedom = 2 * n - 2
    error = np.sqrt((x.var(axis=1, ddof=1) + y.var(axis=1, ddof=1)) / n)
    bar = float(stdtrit(freedom, 0.995))
    apart = x.mean(axis=1) - y.mean(axis=1)
    t = np.where(error > 0, apart / np.where(error > 0, error, 1.0), 0.0)
    faster, slower = stdtr(freedom, -t - bar), stdtr(freedom, t - bar)
    return np.column_stack([faster, slower, 1 - faster - slower])


def _words(counts: Counts) -> str:
    return f"{counts.faster}, {counts.slower}, {counts.none}"


def _around(value: float, rel: float) -> Band:
    ends = sorted((value * (1 - rel), value * (1 + rel)))
    return Band(ends[0], ends[1])
