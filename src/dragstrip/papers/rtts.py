"""Predicates in round trips: handshakes, and what is left of QUIC's lead without its own."""

from math import inf

import numpy as np
from msgspec import Struct

from dragstrip.papers.answer import Answer, Band, Estimate, estimate, incomplete, settle, together
from dragstrip.papers.base import Predicate, not_run
from dragstrip.papers.cells import Cell, cells, pooled, select
from dragstrip.papers.evidence import Evidence
from dragstrip.stats.one_rtt import one_rtt_corrected


class HandshakeRtts(Predicate, kw_only=True, frozen=True):
    """Round trips before the document's request leaves.

    Not by the answer's first byte: a TLS record larger than the first flight delays that by another
    round trip. Median over blocks and mean over cells; cells without delay are left out.
    """

    stack: str
    at_least: float
    at_most: float
    metric: str = "connect_to_request_ms"

    def answer(self, evidence: Evidence) -> Answer:
        found = [c for c in self.found(evidence, self.stack) if c.factors.get("rtt_ms", 0) > 0]
        if not found:
            return not_run([self.stack], self.loads)
        in_rtts = [_in_rtts(cell, self.stack) for cell in found]
        values, units = pooled(in_rtts, lambda c: c[self.stack], self.statistic, "blocks")
        band = Band(self.at_least, self.at_most)
        answer = settle(estimate(values, units), band, unit="RTT")
        return incomplete(answer, len(found), self.cells)


class OneRtt(Predicate, kw_only=True, frozen=True):
    """Difference of the means of one page less one round trip, in RTT (`stats.one_rtt`)."""

    a: str
    ref: str
    at_least: float = -inf
    at_most: float = inf

    def answer(self, evidence: Evidence) -> Answer:
        found = self.found(evidence, self.a, self.ref)
        if not found:
            return not_run([self.a, self.ref], self.loads)
        answers = [
            settle(_corrected(c, self.a, self.ref), Band(self.at_least, self.at_most), unit="RTT")
            for c in found
        ]
        return incomplete(together(answers), len(found), self.cells)


class Tally(Struct, frozen=True, forbid_unknown_fields=True):
    """Rows of the table, tolerance included."""

    low: int = 0
    high: int = 10_000


class OneRttTable(Predicate, kw_only=True, frozen=True):
    """The whole table: rows within one round trip, rows above zero, and the greatest magnitude.

    `cells` counts rows: pages x networks x metrics. Counts are of the means, as the paper's.
    """

    a: str
    ref: str
    metrics: list[str]
    within_one: Tally = Tally()
    positive: Tally = Tally()
    greatest: Band | None = None

    def answer(self, evidence: Evidence) -> Answer:
        rows = select(evidence.loads, self.where, self.unless)
        found = [
            _corrected(cell, self.a, self.ref)
            for metric in self.metrics
            for cell in cells(rows, [self.ref, self.a], metric, self.loads)
        ]
        if not found:
            return not_run([self.a, self.ref], self.loads)
        within = sum(abs(e.value) < 1 for e in found)
        above = sum(e.value > 0 for e in found)
        most = max(found, key=lambda e: abs(e.value))
        good = all(
            tally.low <= n <= tally.high
            for n, tally in ((within, self.within_one), (above, self.positive))
        )
        parts = [Answer(verdict="reproduced" if good else "contradicted")]
        if self.greatest:
            ends = sorted((abs(most.low), abs(most.high)))
            size = Estimate(abs(most.value), ends[0], ends[1])
            parts.append(settle(size, self.greatest, unit="RTT"))
        whole = together(parts)
        words = (
            f"{within} of {len(found)} below one RTT, {above} above zero, greatest {most.words()}"
        )
        answer = Answer(verdict=whole.verdict, ours=words, why=whole.why)
        return incomplete(answer, len(found), self.cells)


def _in_rtts(cell: Cell, stack: str) -> Cell:
    times = {stack: cell.times[stack] / cell.factors["rtt_ms"]}
    return Cell(
        page=cell.page,
        network=cell.network,
        connection=cell.connection,
        factors=cell.factors,
        times=times,
    )


def _corrected(cell: Cell, a: str, ref: str) -> Estimate:
    rtt_ms = cell.factors["rtt_ms"]
    centres = cell.centres("mean")
    spread = estimate((centres[a] - centres[ref] + rtt_ms) / rtt_ms, cell.blocks)
    value = one_rtt_corrected(list(cell.times[ref]), list(cell.times[a]), rtt_ms).rtts
    return Estimate(float(np.round(value, 12)), spread.low, spread.high)
