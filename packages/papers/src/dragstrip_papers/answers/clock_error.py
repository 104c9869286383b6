"""Finds claims that virtual time cannot answer because its clock errs by more: what is left of a
page's load time once a round trip is taken off, where the round trip is short.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from dragstrip.model.clock import Clock
from dragstrip_papers.cells import fits
from dragstrip_papers.measured import Evidence
from dragstrip_papers.parts import parts_of
from dragstrip_papers.predicates import AnyPredicate
from dragstrip_papers.rtts import OneRtt, OneRttTable

_PRICED: Mapping[str, float] = {"DSL": 0.12, "LTE": 0.03}
"""How far a clock in which computing has a price may be off on one page, as a share of its load
time, by network. It is three times the median by which ratios of stacks differ from real time's, on
nineteen stand-ins that no price was chosen by (docs/reference/virtual-computing.md). Over slow
networks computing hardly counts."""
_NETWORK: Mapping[str, float] = {"DSL": 0.3, "LTE": 0.09}
"""How far the clock of the network alone may be off, found in the same way
(docs/reference/virtual-time.md#true, page load)."""


def too_near(predicate: AnyPredicate | None, evidence: Evidence, clock: Clock) -> str:
    """Return why this virtual clock cannot answer a claim: in one of its cells half a round trip,
    which such claims allow, is less than the clock may be off. Empty if it can."""
    share = _PRICED if clock.prices_ns else _NETWORK
    for part in _counted(predicate):
        for cell in part.found(evidence, part.ref, part.a):
            longest = max(float(np.mean(times)) for times in cell.times.values())
            off_ms = share.get(cell.network, 0.0) * longest
            if off_ms > cell.factors["rtt_ms"] / 2:
                return (
                    f"on {cell.network} the clock may be off by {off_ms:.0f} ms, more than half a "
                    "round trip"
                )
    return ""


def on_a_fast_network(predicate: AnyPredicate | None) -> str:
    """Return a network on which such a claim asks for more than the clock may show; empty if there
    is none. For answers whose loads, and so load times, are not kept."""
    for part in _counted(predicate):
        asked = {name: value for name, value in part.where.items() if name == "network"}
        for network in _NETWORK:
            if fits({"network": network}.get, asked):
                return network
    return ""


def _counted(predicate: AnyPredicate | None) -> Iterator[OneRtt | OneRttTable]:
    for part in parts_of(predicate) if predicate else ():
        if isinstance(part, OneRtt | OneRttTable):
            yield part
