"""Defines predicates in round trips: handshakes, and QUIC's lead without its shorter handshake."""

from collections.abc import Sequence
from math import inf, sqrt

from msgspec import Struct, structs

from dragstrip_papers.answer import Answer, Band, all_of, every_one, incomplete, settle
from dragstrip_papers.base import Predicate, not_run
from dragstrip_papers.cells import Cell, Statistic, aligned
from dragstrip_papers.estimate import Estimate, Greatest, Mean, Typical, mean_of, words
from dragstrip_papers.measured import Evidence, Values
from dragstrip_papers.populations import Population, Sample, summed
from dragstrip_papers.shares import doubt


class HandshakeRtts(Predicate, kw_only=True, frozen=True):
    """States how many round trips pass before the document's request leaves, on every page and
    network.

    The answer's first byte is not used: a TLS record larger than the first flight delays that byte
    by another round trip. Cells without delay are left out.
    """

    stack: str
    at_least: float
    at_most: float
    metric: str = "connect_to_request_ms"

    def answer(self, evidence: Evidence) -> Answer:
        found = [c for c in self.found(evidence, self.stack) if c.factors.get("rtt_ms", 0) > 0]
        if not found:
            return not_run([self.stack], self.loads)
        band = Band(self.at_least, self.at_most)
        answers = [
            settle(Typical(tuple(c.times[self.stack] / c.factors["rtt_ms"])), band, unit="RTT")
            for c in found
        ]
        return incomplete(every_one(answers), len(found), self.cells, universal=True)


class OneRtt(Predicate, kw_only=True, frozen=True):
    """States the difference of the means of one page less one round trip, in round trips
    (`stats.one_rtt`)."""

    a: str
    ref: str
    at_least: float = -inf
    at_most: float = inf
    statistic: Statistic = "mean"
    population: Population = "page"
    frame_ms: float = 0.0
    """Length of a frame in ms, or 0. An estimate that is nearer than this to an end of the band
    cannot decide."""

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.ref)
        if not found:
            return not_run([self.a, self.ref], self.loads)
        band = Band(self.at_least, self.at_most)
        answers = [
            settle(
                corrected(c, self.a, self.ref),
                band,
                unit="RTT",
                slack=self.frame_ms / c.factors["rtt_ms"],
            )
            for c in found
        ]
        return incomplete(every_one(answers), len(found), self.cells, universal=True)


ALONE = 1.8
"""Factor on the variance of a row. A single row may decide the table. With this factor it decides
only if its loads show its side at 2.5 %, not at 5 %."""


class Tally(Struct, frozen=True, forbid_unknown_fields=True):
    """Allowed numbers of rows of the table, tolerance included."""

    low: int = 0
    high: int = 10_000


class OneRttTable(Predicate, kw_only=True, frozen=True):
    """States a property of the whole table: rows within one round trip, rows above zero, and the
    greatest magnitude.

    `cells` counts rows: pages x networks x metrics. Only rows whose loads do not show a side could
    fall the other way; the rows of one page's visits fall together.
    """

    a: str
    ref: str
    metrics: list[str]
    within_one: Tally = Tally()
    positive: Tally = Tally()
    greatest: Band | None = None
    population: Population = "page"
    frame_ms: float = 0.0
    """Distance in ms from zero below which the side of a row is left open."""

    def answer(self, evidence: Evidence) -> Answer:
        by_metric = [
            aligned(self.reached(evidence), [self.ref, self.a], metric, self.loads)
            for metric in self.metrics
        ]
        cells = [cell for found in by_metric for cell in found]
        if not cells:
            return not_run([self.a, self.ref], self.loads)
        values = [_leads(cell, self.a, self.ref) for cell in cells]
        rows = [summed([Sample(v, 1.0)], "page") for v in values]
        slack = [self.frame_ms / cell.factors["rtt_ms"] for cell in cells]
        groups = [f"{cell.page} {cell.network}" for cell in cells]
        means = [mean_of(v) for v in values]
        within = [mean.p_above(1.0) - mean.p_above(-1.0) for mean in means]
        above = [(m.p_below(f) + m.p_below(-f)) / 2 for m, f in zip(means, slack, strict=True)]
        near = _tally([abs(mean.value) < 1 for mean in means], within, groups)
        positive = _tally([mean.value > 0 for mean in means], above, groups)
        parts = [_settle(near, self.within_one), _settle(positive, self.positive)]
        most = Greatest([Magnitude(row) for row in rows])
        if self.greatest:
            parts.append(settle(most, self.greatest, unit="RTT", slack=max(slack)))
        told = (
            f"{round(near.value)} of {len(rows)} below one RTT, {round(positive.value)} above "
            f"zero, greatest {words(most, 'RTT')}"
        )
        answer = structs.replace(all_of(parts), ours=told)
        return incomplete(answer, len(rows), self.cells)


class Magnitude(Struct, frozen=True):
    """The absolute size of a number of either sign. If the number's interval contains zero, the
    interval of the size begins at zero."""

    of: Estimate

    @property
    def value(self) -> float:
        return abs(self.of.value)

    @property
    def floor(self) -> float:
        return self.of.floor

    def interval(self) -> tuple[float, float] | None:
        found = self.of.interval()
        if found is None:
            return None
        low, high = found
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        return nearest, max(abs(low), abs(high))

    def p_above(self, point: float) -> float:
        if point < 0:
            return 0.0
        return min(1.0, 2 * min(self.of.p_above(point), self.of.p_below(-point)))

    def p_below(self, point: float) -> float:
        return 1.0 if point < 0 else max(self.of.p_below(point), self.of.p_above(-point))


def corrected(cell: Cell, a: str, ref: str) -> Mean:
    """Return the lead in round trips that is left after the correction, from the means
    (`stats.one_rtt`)."""
    return summed([Sample(_leads(cell, a, ref), 1.0)], "page")


def _leads(cell: Cell, a: str, ref: str) -> Values:
    """Return the lead in round trips that is left after the correction, in each round."""
    rtt_ms = cell.factors["rtt_ms"]
    return (cell.times[a] - cell.times[ref] + rtt_ms) / rtt_ms


def _tally(hits: Sequence[bool], chances: Sequence[float], groups: Sequence[str]) -> Mean:
    """Return the number of hits among the rows, with the error from rows that could fall the other
    way. `chances` are the chances of a hit if the loads were made again. Rows of a group are taken
    to err together."""
    spread: dict[str, float] = {}
    for p, group in zip(chances, groups, strict=True):
        spread[group] = spread.get(group, 0.0) + sqrt(ALONE * doubt(min(max(p, 0.0), 1.0)))
    return Mean(float(sum(hits)), sqrt(sum(s**2 for s in spread.values())), low=0, high=len(hits))


def _settle(count: Mean, allowed: Tally) -> Answer:
    if allowed == Tally():
        return Answer(verdict="reproduced", holds=0.0)
    low = allowed.low - 0.5 if allowed.low else -inf
    return settle(count, Band(low, allowed.high + 0.5))
