"""Defines predicates on one stack: how it depends on a factor, and how long it takes in absolute
terms."""

from collections.abc import Mapping, Sequence
from math import inf
from typing import Literal

import numpy as np

from dragstrip_papers.answer import Answer, Band, incomplete, settle
from dragstrip_papers.base import Predicate, margin_band, named, not_run
from dragstrip_papers.cells import Cell, Where, aligned, by_round, select
from dragstrip_papers.estimate import Estimate, Typical
from dragstrip_papers.gains import difference_of
from dragstrip_papers.measured import Evidence, Values
from dragstrip_papers.populations import estimate, evenly, summed

Scale = Literal["ratio", "ms"]


class Sensitivity(Predicate, kw_only=True, frozen=True):
    """States how much longer a stack takes on the cells `there` than on the cells `here`, as a
    ratio or in ms."""

    stack: str
    here: Where
    there: Where
    scale: Scale = "ratio"
    at_least: float = -inf
    at_most: float = inf
    same: float | None = None

    def answer(self, evidence: Evidence) -> Answer:
        sides = both_sides(self, self.stack, evidence)
        if sides is None:
            return not_run([self.stack], self.loads)
        ratio = self.scale == "ratio"
        answer = settle(
            change(self, self.stack, *sides),
            Band(self.at_least, self.at_most),
            unit="" if ratio else "ms",
            same=margin_band(self.same) if ratio else None,
        )
        return incomplete(answer, sum(map(len, sides)), self.cells)


class SensitivityOrder(Predicate, kw_only=True, frozen=True):
    """States that the stack `less` changes less from here to there than the stack `more`, in the
    typical round.

    The number is the difference of both changes in ms, or the ratio of both ratios.
    """

    less: str
    more: str
    here: Where
    there: Where
    scale: Scale = "ratio"

    def answer(self, evidence: Evidence) -> Answer:
        calm, moved = (both_sides(self, stack, evidence) for stack in (self.less, self.more))
        if calm is None or moved is None:
            return not_run([self.less, self.more], self.loads)
        ms = self.scale == "ms"
        less, more = by_change(self, self.less, *calm), by_change(self, self.more, *moved)
        units = [a - b for a, b in zip(less.units, more.units, strict=False)]
        got = Typical(units, ratio=not ms)
        what = "ms" if ms else "times"
        told = f"{self.less} {less.value:.4g} {what}, {self.more} {more.value:.4g} {what}; "
        answer = named(settle(got, Band(high=0.0 if ms else 1.0)), told)
        return incomplete(answer, sum(map(len, calm)), self.cells)


class Difference(Predicate, kw_only=True, frozen=True):
    """States `a` minus `ref` in ms, over the cells together."""

    a: str
    ref: str
    at_least: float = -inf
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.ref)
        if not found:
            return not_run([self.a, self.ref], self.loads)
        got = difference_of(found, self.a, self.ref, "ms", self.statistic, self.population)
        answer = settle(got, Band(self.at_least, self.at_most), unit="ms")
        return incomplete(answer, len(found), self.cells)


class Absolute(Predicate, kw_only=True, frozen=True):
    """States a stack's own time in ms, as the mean over cells."""

    stack: str
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.stack)
        if not found:
            return not_run([self.stack], self.loads)

        def own(times: Mapping[str, Values]) -> Values:
            return times[self.stack]

        got = estimate(found, own, own, self.statistic, self.population)
        answer = settle(got, Band(self.at_least, self.at_most), unit="ms")
        return incomplete(answer, len(found), self.cells)


class ImpliedBytes(Predicate, kw_only=True, frozen=True):
    """States how many bytes the line could carry during a load (time x rate), as the mean over
    stacks and cells.

    If our page is lighter than the paper's, the number lies below `at_most`.
    """

    stacks: list[str]
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, *self.stacks)
        if not found or any("rate_mbps" not in cell.factors for cell in found):
            return not_run(self.stacks, self.loads)
        carries = found[0].factors["rate_mbps"] * 125

        def bytes_(times: Mapping[str, Values]) -> Values:
            return np.asarray(np.mean([times[s] for s in self.stacks], axis=0) * carries)

        got = estimate(found, bytes_, bytes_, self.statistic, self.population)
        low = self.at_least if self.at_least > 0 else -inf
        answer = settle(got, Band(low, self.at_most), unit="bytes")
        return incomplete(answer, len(found), self.cells)


class Corpus(Predicate, kw_only=True, frozen=True):
    """States a property of the pages themselves: their mean bytes, objects or bytes per object. No
    load time matters."""

    of: Literal["page_bytes", "objects", "object_bytes", "hosts"]
    pages: int = 1
    at_least: float = 0.0
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        pages = {cell.page: cell.factors for cell in self.reached(evidence)}
        if len(pages) < self.pages:
            return Answer(verdict="open", why=f"{len(pages)} of its {self.pages} pages are run")
        if any(self.of not in factors for factors in pages.values()):
            return Answer(verdict="open", why=f"the {self.of} of a page that was run is not known")
        mean = float(np.mean([factors[self.of] for factors in pages.values()]))
        if self.of == "object_bytes":  # per object of all pages, not the mean of pages
            total = sum(factors["page_bytes"] for factors in pages.values())
            mean = total / sum(factors["objects"] for factors in pages.values())
        ours = f"{mean:.6g} over {len(pages)} pages"
        if self.at_least <= mean <= self.at_most:
            return Answer(verdict="reproduced", ours=ours, holds=0.0)
        return Answer(verdict="contradicted", ours=ours, fails=0.0)


class AuditCount(Predicate, kw_only=True, frozen=True):
    """States how many captures of others the audit finds impossible (`dragstrip audit`)."""

    captures: int
    at_least: int
    at_most: int

    def answer(self, evidence: Evidence) -> Answer:
        rows = evidence.audit
        if rows is None or len(rows) < self.captures:
            have = 0 if rows is None else len(rows)
            why = f"{have} of its {self.captures} captures are audited; give the published folder"
            return Answer(verdict="open", why=why)
        found = int(rows["impossible"].sum())
        ours = f"{found} of {len(rows)} captures"
        if self.at_least <= found <= self.at_most:
            return Answer(verdict="reproduced", ours=ours, holds=0.0)
        return Answer(verdict="contradicted", ours=ours, fails=0.0)


Sides = tuple[list[Cell], list[Cell]]


def both_sides(
    rule: Sensitivity | SensitivityOrder, stack: str, evidence: Evidence
) -> Sides | None:
    """Return the cells `here` and `there`; None if one side was not run."""
    reached = rule.reached(evidence)
    here, there = (
        aligned(select(reached, side), [stack], rule.metric, rule.loads)
        for side in (rule.here, rule.there)
    )
    return (here, there) if here and there else None


def change(
    rule: Sensitivity | SensitivityOrder, stack: str, here: Sequence[Cell], there: Sequence[Cell]
) -> Estimate:
    """Estimate the change from `here` to `there`."""
    if rule.statistic == "median":
        return by_change(rule, stack, here, there)
    logs = rule.scale == "ratio"

    def means(times: Mapping[str, Values]) -> Values:
        return _of_mean(times[stack]) if logs else times[stack]

    apart = [*evenly(there, means), *evenly(here, means, -1)]
    return summed(apart, rule.population, ratio=logs)


def by_change(
    rule: Sensitivity | SensitivityOrder, stack: str, here: Sequence[Cell], there: Sequence[Cell]
) -> Typical:
    """Return the ratio of `there` to `here`, round by round, because each round of a study repeats
    all its cells."""
    logs = rule.scale == "ratio"
    units = [
        by_round(side, lambda times: np.log(times[stack]) if logs else times[stack])
        for side in (here, there)
    ]
    return Typical([t - h for h, t in zip(*units, strict=False)], ratio=logs)


def _of_mean(times: Values) -> Values:
    """Return values whose mean is the logarithm of the mean, and whose spread is that of the
    logarithm (delta method)."""
    mean = float(times.mean())
    return np.asarray(np.log(mean) + times / mean - 1)
