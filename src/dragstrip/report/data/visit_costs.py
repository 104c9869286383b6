"""Summarises the cost of a study's visits, and what the link delivered."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import polars as pl
from msgspec import Struct

from dragstrip.model.effects import DROPS, Direction
from dragstrip.model.network import Network
from dragstrip.model.study import Study

OVERHEAD = ("prepare_ms", "before_navigation_ms", "settle_ms", "collect_ms")
_SIDES: tuple[Literal["down", "up"], ...] = ("down", "up")


class StackCost(Struct, frozen=True):
    """Medians of a stack's overhead in ms: the parts in the order of `OVERHEAD`, then their sum."""

    stack: str
    medians: tuple[float, ...]


class LinkFacts(Struct, frozen=True, kw_only=True):
    """Facts on one direction of a network, over all its visits. A fact is None if no visit measured
    it."""

    network: Network
    side: Literal["down", "up"]
    asked: Direction
    realised_mbps: float | None
    """Median of the realised rate over visits, in Mbit/s."""
    packets: int
    """Number of packets that reached the random loss stage."""
    dropped: Mapping[str, int]
    """Number of packets that the link dropped, by cause."""
    lateness_p99_us: float | None
    """Median over visits of the 99th percentile of lateness, in us."""
    lateness_max_us: float | None
    largest_frame_bytes: int


class EvidenceSummary(Struct, frozen=True, kw_only=True):
    total: int
    invalid: int
    costs: tuple[StackCost, ...]
    """Costs of the stacks that have a visit with a reported overhead."""
    cost_ms: float | None
    """Median overhead of a visit in ms."""
    links: tuple[LinkFacts, ...]


def evidence(study: Study, table: pl.LazyFrame) -> EvidenceSummary:
    """Summarise the evidence of a study. `table` is visits.parquet."""
    total = sum((pl.col(f"overhead_{name}") for name in OVERHEAD), pl.lit(0.0)).alias("total")
    sums = [pl.len().alias("visits"), (~pl.col("valid")).sum().alias("invalid")]
    whole = _collect(table.select(*sums, total.median())).row(0, named=True)
    parts = [*(pl.col(f"overhead_{name}").median() for name in OVERHEAD), total.median()]
    costs = dict(_by("stack", table, parts))
    links = dict(_by("network", table, [e for side in _SIDES for e in _link(side)]))
    return EvidenceSummary(
        total=whole["visits"],
        invalid=whole["invalid"],
        costs=tuple(
            StackCost(s.name, tuple(costs[s.name].values()))
            for s in study.visited
            if s.name in costs and None not in costs[s.name].values()
        ),
        cost_ms=whole["total"],
        links=tuple(
            _facts(network, side, links.get(network.name, {}))
            for network in study.networks
            for side in _SIDES
        ),
    )


def _by(
    key: str, table: pl.LazyFrame, measures: list[pl.Expr]
) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in _collect(table.group_by(key).agg(measures)).iter_rows(named=True):
        yield row.pop(key), row


def _collect(frame: pl.LazyFrame) -> pl.DataFrame:
    return frame.collect(engine="streaming")


def _link(side: str) -> Iterator[pl.Expr]:
    def of(name: str) -> pl.Expr:
        return pl.col(f"link_{side}_{name}")

    met = pl.coalesce(of("loss_trials"), of("packets_in"))
    yield of("realised_mbps").median().alias(f"{side}_realised_mbps")
    yield met.sum().alias(f"{side}_packets")
    for count in DROPS:
        yield of(count.field).sum().alias(f"{side}_{count.field}")
    yield of("lateness_p99_us").median().alias(f"{side}_lateness_p99_us")
    yield of("lateness_max_us").max().alias(f"{side}_lateness_max_us")
    yield of("largest_frame_bytes").max().alias(f"{side}_largest_frame_bytes")


def _facts(network: Network, side: Literal["down", "up"], seen: dict[str, Any]) -> LinkFacts:
    return LinkFacts(
        network=network,
        side=side,
        asked=getattr(network, side),
        realised_mbps=seen.get(f"{side}_realised_mbps"),
        packets=seen.get(f"{side}_packets") or 0,
        dropped={c.cause: seen.get(f"{side}_{c.field}") or 0 for c in DROPS},
        lateness_p99_us=seen.get(f"{side}_lateness_p99_us"),
        lateness_max_us=seen.get(f"{side}_lateness_max_us"),
        largest_frame_bytes=seen.get(f"{side}_largest_frame_bytes") or 0,
    )
