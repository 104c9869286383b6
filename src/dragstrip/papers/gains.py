"""wolsing2019's predicates: gains of means over a corpus of pages; negative means faster."""

from itertools import pairwise
from math import inf
from typing import Literal

import numpy as np
from msgspec import Struct

from dragstrip.papers.answer import (
    UNDECIDED,
    UNTESTABLE,
    Answer,
    Band,
    Replicates,
    Verdict,
    estimate,
    incomplete,
    settle,
    together,
)
from dragstrip.papers.base import Predicate, not_run
from dragstrip.papers.cells import Cell, Over, Statistic, Where, cells, pooled, select
from dragstrip.papers.evidence import Evidence
from dragstrip.stats.anova_counts import Counts, anova_counts

Scale = Literal["gain", "ms"]


class Gain(Predicate, kw_only=True, frozen=True):
    """Mean over pages of (mean a - mean ref) / mean ref (`stats.wolsing_gain`)."""

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
        values, units = _differences(found, self.a, self.ref, "gain", self.statistic, self.over)
        answer = settle(estimate(values, units), Band(self.at_least, self.at_most))
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
        ms, pages = _differences(found, self.a, self.ref, "ms", self.statistic, "pages")
        in_ms = settle(estimate(ms, pages), _around(self.published_ms, self.rel), unit="ms")
        if not select(evidence.loads, self.where, self.unless)["standin"].any():
            return incomplete(in_ms, len(found), self.cells)
        gain, _ = _differences(found, self.a, self.ref, "gain", self.statistic, "pages")
        got = estimate(gain, pages)
        words = f"{got.words()} as a gain; {in_ms.ours} on stand-ins"
        if self.as_gain is not None:
            answer = settle(got, _around(self.as_gain, self.rel))
            answer = Answer(verdict=answer.verdict, ours=words, why=answer.why)
            return incomplete(answer, len(found), self.cells)
        wrong = got.outside(-inf, 0) if self.published_ms < 0 else got.outside(0, inf)
        return incomplete(
            Answer(
                verdict="contradicted" if wrong else UNTESTABLE,
                ours=words,
                why="the sign differs" if wrong else "its size belongs to the paper's own pages",
            ),
            len(found),
            self.cells,
        )


class Term(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    a: str
    ref: str
    metric: str
    where: Where = {}


class MagnitudeOrder(Predicate, kw_only=True, frozen=True):
    """|first| > |second| > ...: differences of two stacks, as gains or in ms, on the same pages."""

    terms: list[Term]
    scale: Scale = "gain"
    statistic: Statistic = "mean"
    over: Over = "pages"

    def answer(self, evidence: Evidence) -> Answer:
        rows = select(evidence.loads, self.where, self.unless)
        found = [
            cells(select(rows, t.where), [t.a, t.ref], t.metric, self.loads) for t in self.terms
        ]
        pages = set.intersection(*({c.page for c in cells_} for cells_ in found))
        if not pages:
            return not_run([self.terms[0].a, self.terms[0].ref], self.loads)
        sizes, units = [], 0
        for term, side in zip(self.terms, found, strict=True):
            kept = [c for c in side if c.page in pages]
            value, units = _differences(
                kept, term.a, term.ref, self.scale, self.statistic, self.over
            )
            sizes.append(np.abs(value))
        answers = [settle(estimate(more - less, units), Band(0)) for more, less in pairwise(sizes)]
        whole = together(answers)
        words = " > ".join(f"{size[0]:.4g}" for size in sizes)
        return incomplete(
            Answer(
                verdict=whole.verdict,
                ours=f"claimed {words}; differences {whole.ours}",
                why=whole.why,
            ),
            len(pages),
            self.cells,
        )


class Allowed(Struct, frozen=True, forbid_unknown_fields=True):
    """Pages, tolerance included."""

    low: int = 0
    high: int = 10_000


class AnovaCount(Predicate, kw_only=True, frozen=True):
    """On how many pages is `a` significantly faster, slower, neither (`stats.anova_counts`).

    Each of `pairs` (a, ref) on each metric and network must hold. Pages that are not run may fall
    any way. `cells` is the paper's number of pages.
    """

    pairs: list[tuple[str, str]]
    networks: list[str]
    metrics: list[str]
    faster: Allowed = Allowed()
    slower: Allowed = Allowed()
    none: Allowed = Allowed()

    def answer(self, evidence: Evidence) -> Answer:
        return together(
            [
                self._count(a, ref, network, metric, evidence)
                for a, ref in self.pairs
                for network in self.networks
                for metric in self.metrics
            ]
        )

    def _count(self, a: str, ref: str, network: str, metric: str, evidence: Evidence) -> Answer:
        rows = select(evidence.loads, self.where | {"network": network}, self.unless)
        found = cells(rows, [ref, a], metric, self.loads)
        if not found:
            return not_run([a, ref], self.loads)
        counts = anova_counts({c.page: (c.times[ref].tolist(), c.times[a].tolist()) for c in found})
        words = (
            f"{a} against {ref}, {metric} on {network}: faster, slower, neither on "
            f"{_words(counts.printed)} of {len(found)} pages (Holm: {_words(counts.holm)})"
        )
        missing = max(0, self.cells - len(found))
        verdict = _within(counts.printed, self, missing)
        why = f"{len(found)} of its {self.cells} pages are run" if verdict == UNDECIDED else ""
        return Answer(verdict=verdict, ours=words, why=why)


def _within(found: Counts, rule: AnovaCount, missing: int) -> Verdict:
    counted = ((found.faster, rule.faster), (found.slower, rule.slower), (found.none, rule.none))
    if any(n > band.high or n + missing < band.low for n, band in counted):
        return "contradicted"
    if all(n >= band.low and n + missing <= band.high for n, band in counted):
        return "reproduced"
    return UNDECIDED


def _words(counts: Counts) -> str:
    return f"{counts.faster}, {counts.slower}, {counts.none}"


def _around(value: float, rel: float) -> Band:
    ends = sorted((value * (1 - rel), value * (1 + rel)))
    return Band(ends[0], ends[1])


def _differences(
    found: list[Cell], a: str, ref: str, scale: Scale, statistic: Statistic, over: Over
) -> tuple[Replicates, int]:
    def measure(centres: object) -> Replicates:
        both: dict[str, Replicates] = centres  # type: ignore[assignment]
        difference = both[a] - both[ref]
        return np.asarray(difference / both[ref] if scale == "gain" else difference)

    return pooled(found, measure, statistic, over)
