"""Predicates on one stack: how it answers to a factor, and how long it takes at all."""

from math import inf
from typing import Literal

import numpy as np

from dragstrip.papers.answer import (
    UNDECIDED,
    UNTESTABLE,
    Answer,
    Band,
    Replicates,
    estimate,
    incomplete,
    settle,
)
from dragstrip.papers.base import Predicate, margin_band, not_run
from dragstrip.papers.cells import Where, cells, pooled, select
from dragstrip.papers.evidence import Evidence

Scale = Literal["ratio", "ms"]


class Sensitivity(Predicate, kw_only=True, frozen=True):
    """How much longer a stack takes there than here: as a ratio, or in ms."""

    stack: str
    here: Where
    there: Where
    scale: Scale = "ratio"
    at_least: float = -inf
    at_most: float = inf
    same: float | None = None

    def answer(self, evidence: Evidence) -> Answer:
        found = change(self, self.stack, evidence)
        if found is None:
            return not_run([self.stack], self.loads)
        values, units, have = found
        same = margin_band(self.same) if self.same and self.scale == "ratio" else None
        unit = "ms" if self.scale == "ms" else ""
        got = estimate(values, units)
        answer = settle(got, Band(self.at_least, self.at_most), same=same, unit=unit)
        return incomplete(answer, have, self.cells)


class SensitivityOrder(Predicate, kw_only=True, frozen=True):
    """`less` changes less from here to there than `more` does.

    Stated as the difference in ms, or as the ratio of both ratios.
    """

    less: str
    more: str
    here: Where
    there: Where
    scale: Scale = "ratio"

    def answer(self, evidence: Evidence) -> Answer:
        both = [change(self, stack, evidence) for stack in (self.less, self.more)]
        if both[0] is None or both[1] is None:
            return not_run([self.less, self.more], self.loads)
        (less, n, have), (more, m, _) = both[0], both[1]
        ms = self.scale == "ms"
        found = estimate(less - more if ms else less / more, min(n, m))
        answer = settle(found, Band(high=0.0 if ms else 1.0))
        what = "ms" if ms else "times"
        words = f"{self.less} {less[0]:.4g} {what}, {self.more} {more[0]:.4g} {what}; "
        return incomplete(
            Answer(verdict=answer.verdict, ours=words + answer.ours, why=answer.why),
            have,
            self.cells,
        )


class Difference(Predicate, kw_only=True, frozen=True):
    """a - ref in ms, over the cells together."""

    a: str
    ref: str
    at_least: float = -inf
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.ref)
        if not found:
            return not_run([self.a, self.ref], self.loads)
        values, units = pooled(found, lambda c: c[self.a] - c[self.ref], self.statistic, "blocks")
        answer = settle(estimate(values, units), Band(self.at_least, self.at_most), unit="ms")
        return incomplete(answer, len(found), self.cells)


class Absolute(Predicate, kw_only=True, frozen=True):
    """A stack's own time in ms, as the mean over cells.

    Absolute times belong to a page. On stand-ins, whose sizes the paper does not give, they say
    nothing about the paper's.
    """

    stack: str
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.stack)
        if not found:
            return not_run([self.stack], self.loads)
        values, units = pooled(found, lambda c: c[self.stack], self.statistic, "blocks")
        answer = settle(estimate(values, units), Band(self.at_least, self.at_most), unit="ms")
        if select(evidence.loads, self.where, self.unless)["standin"].any():
            return Answer(
                verdict=UNTESTABLE,
                ours=answer.ours,
                why="absolute times of a stand-in are not those of the paper's page",
            )
        return incomplete(answer, len(found), self.cells)


class ImpliedBytes(Predicate, kw_only=True, frozen=True):
    """Bytes the line could carry during a load (time x rate), the mean over stacks and cells.

    Below `at_most` our page is lighter than the one whose published times imply more.
    """

    stacks: list[str]
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, *self.stacks)
        if not found or any("rate_mbps" not in cell.factors for cell in found):
            return not_run(self.stacks, self.loads)
        rate = found[0].factors["rate_mbps"]

        def carried(centres: dict[str, Replicates]) -> Replicates:
            return np.asarray(np.mean([centres[s] for s in self.stacks], axis=0) * rate * 125)

        values, units = pooled(found, carried, self.statistic, "blocks")  # type: ignore[arg-type]
        answer = settle(estimate(values, units), Band(self.at_least, self.at_most), unit="bytes")
        return incomplete(answer, len(found), self.cells)


class Corpus(Predicate, kw_only=True, frozen=True):
    """The pages themselves: their mean bytes, objects or bytes an object. No time is looked at."""

    of: Literal["page_bytes", "objects", "object_bytes", "hosts"]
    pages: int = 1
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        rows = select(evidence.loads, self.where, self.unless).unique("page")
        if len(rows) < self.pages:
            return Answer(verdict=UNDECIDED, why=f"{len(rows)} of its {self.pages} pages are run")
        values = [float(v) for v in rows[self.of]]
        mean = sum(values) / len(values)
        if self.of == "object_bytes":  # of all objects, not of pages
            mean = float(rows["page_bytes"].sum()) / float(rows["objects"].sum())
        good = self.at_least <= mean <= self.at_most
        words = f"{mean:.6g} over {len(rows)} pages"
        return Answer(verdict="reproduced" if good else "contradicted", ours=words)


class AuditCount(Predicate, kw_only=True, frozen=True):
    """How many foreign captures the audit finds impossible (`dragstrip audit`)."""

    captures: int
    at_least: int
    at_most: int

    def answer(self, evidence: Evidence) -> Answer:
        rows = evidence.audit
        if rows is None or len(rows) < self.captures:
            have = 0 if rows is None else len(rows)
            why = f"{have} of its {self.captures} captures are audited; give the published folder"
            return Answer(verdict=UNDECIDED, why=why)
        found = int(rows["impossible"].sum())
        good = self.at_least <= found <= self.at_most
        return Answer(
            verdict="reproduced" if good else "contradicted",
            ours=f"{found} of {len(rows)} captures",
        )


def change(
    rule: Sensitivity | SensitivityOrder, stack: str, evidence: Evidence
) -> tuple[Replicates, int, int] | None:
    """There against here, resampled; blocks of a cell, and cells. None if a side is not run."""
    rows = select(evidence.loads, rule.where, rule.unless)
    sides = [
        cells(select(rows, side), [stack], rule.metric, rule.loads)
        for side in (rule.here, rule.there)
    ]
    if not all(sides):
        return None
    logs = rule.scale == "ratio"
    (here, n), (there, m) = [
        pooled(side, lambda c: np.log(c[stack]) if logs else c[stack], rule.statistic, "blocks")
        for side in sides
    ]
    there = np.concatenate([there[:1], there[:0:-1]])  # in another order: independent samples
    values = np.exp(there - here) if logs else there - here
    return np.asarray(values), min(n, m), sum(map(len, sides))
