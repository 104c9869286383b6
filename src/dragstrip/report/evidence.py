"""The evidence of a study: its visits, what the testbed cost and what the link delivered."""

from collections.abc import Callable, Sequence
from statistics import median
from typing import Literal

from msgspec import Struct

from dragstrip.model.network import Direction, Network
from dragstrip.model.study import Study
from dragstrip.model.visit import DirectionReport, Overhead, Visit
from dragstrip.results.blocks import trials

SHOWN_VISITS = 600
"""A longer table helps nobody; the rest is in the capsule's visits.parquet."""

OVERHEAD = ("prepare_ms", "before_navigation_ms", "settle_ms", "collect_ms", "total_ms")


class StackCost(Struct, frozen=True):
    """Medians of a stack's overhead in ms, in the order of `OVERHEAD`."""

    stack: str
    medians: tuple[float, ...]


class LinkFacts(Struct, frozen=True, kw_only=True):
    """One direction of a network, over all its visits. None where no visit could tell."""

    network: Network
    side: Literal["down", "up"]
    asked: Direction
    realised_mbps: float | None
    """Median over visits."""
    packets: int
    lost: int
    dropped: int
    """By the full queue."""
    lateness_p99_us: float | None
    """Median over visits of each visit's 99th percentile."""
    lateness_max_us: float | None
    largest_frame_bytes: int


class Evidence(Struct, frozen=True, kw_only=True):
    visits: tuple[Visit, ...]
    """Invalid ones first, then in the order they were made; at most `SHOWN_VISITS`."""
    counted: frozenset[tuple[str, int]]
    """Block and attempt of the visits behind the statistics."""
    total: int
    invalid: int
    costs: tuple[StackCost, ...]
    cost_ms: float | None
    """Median overhead of a visit."""
    links: tuple[LinkFacts, ...]


def evidence(study: Study, visits: Sequence[Visit]) -> Evidence:
    ordered = sorted(visits, key=lambda v: (v.valid, v.started_us))
    costs = [v.overhead for v in visits if v.overhead]
    return Evidence(
        visits=tuple(ordered[:SHOWN_VISITS]),
        counted=frozenset(
            (t.block, t.attempt) for t in trials(visits, [s.name for s in study.stacks]) if t.counts
        ),
        total=len(visits),
        invalid=sum(not v.valid for v in visits),
        costs=tuple(
            _cost(s.name, [v.overhead for v in visits if v.overhead and v.stack == s.name])
            for s in study.stacks
        ),
        cost_ms=median(c.total_ms for c in costs) if costs else None,
        links=tuple(
            facts
            for network in study.networks
            for facts in _links(network, [v for v in visits if v.network == network.name])
        ),
    )


def _cost(stack: str, costs: list[Overhead]) -> StackCost:
    if not costs:
        return StackCost(stack, ())
    return StackCost(stack, tuple(median(getattr(c, name) for c in costs) for name in OVERHEAD))


def _links(network: Network, visits: list[Visit]) -> list[LinkFacts]:
    reports = [v.link for v in visits if v.link]
    return [
        _facts(network, "down", network.down, [r.down for r in reports]),
        _facts(network, "up", network.up, [r.up for r in reports]),
    ]


def _facts(
    network: Network, side: Literal["down", "up"], asked: Direction, seen: list[DirectionReport]
) -> LinkFacts:
    return LinkFacts(
        network=network,
        side=side,
        asked=asked,
        realised_mbps=_over(median, [r.realised_mbps for r in seen]),
        packets=sum(r.met_loss for r in seen),
        lost=sum(r.dropped_loss for r in seen),
        dropped=sum(r.dropped_queue for r in seen),
        lateness_p99_us=_over(median, [r.lateness_p99_us for r in seen]),
        lateness_max_us=_over(max, [r.lateness_max_us for r in seen]),
        largest_frame_bytes=max((r.largest_frame_bytes for r in seen), default=0),
    )


def _over(reduce: Callable[[list[float]], float], values: list[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return reduce(known) if known else None
