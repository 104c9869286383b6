"""Attributes a difference between two stacks to its factors: the result of `dragstrip why`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from msgspec import Struct, structs

from dragstrip.model.bridge import CONDITIONS, KNOWN, LOSS, REST, BuiltBridge
from dragstrip.model.clock import ClockKind
from dragstrip.model.inequality import server_words
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.study import CellKey, Study
from dragstrip.results.compare.wire_evidence import Evidence, evidence
from dragstrip.results.observed import Observed, observed
from dragstrip.stats import attribution
from dragstrip.stats.attribution import Conditions, Measured, Tables, all_conditions
from dragstrip.stats.holm import holm
from dragstrip.stats.log_ratio import LogRatio, third_of_mean

ALPHA = 0.05
_PAGES = 3
"""Fewest pages for intervals over pages."""
MATTERS = 0.01
"""Share that an interaction must be shown to exceed to be named."""


class Span(Struct, frozen=True, kw_only=True):
    """A ratio of times, and its 95 % interval, which is None with too few blocks."""

    ratio: float
    low: float | None
    high: float | None


class FactorEffect(Span, frozen=True, kw_only=True):
    """The effect that changing one factor has on the time, as the mean over all orders of changing
    the factors."""

    factor: str
    """The factor's name in `dragstrip.model.bridge.KNOWN`."""
    words: str
    shown: bool = False
    """Whether the ratio is shown to differ from 1, with Holm's correction over the parts of a
    cell."""


class Interaction(Span, frozen=True, kw_only=True):
    """Ratio of the joint effect of two factors to the product of their single effects; 1 means no
    interaction."""

    factors: tuple[str, str]


class WhyCell(Span, frozen=True, kw_only=True):
    """The ratio B / A on one cell. It is the product of its parts and the unexplained rest."""

    page: str
    network: str
    connection: ConnectionMode
    parts: tuple[FactorEffect, ...]
    unexplained: Span
    """The share of the difference that belongs to protocol and implementation, and to everything
    that cannot be changed by itself."""
    interactions: tuple[Interaction, ...] = ()
    value_a: float
    """The metric of A in its unit, as a geometric mean over blocks; `value_b` is that of B."""
    value_b: float
    n: int
    """Number of blocks that count."""
    n_without_loss: int | None = None
    censored: int = 0
    """Number of loads in these blocks that failed or timed out. Each counts as the client's time
    limit."""
    evidence: Evidence | None = None
    """Observations of A's and B's traffic; None in results older than the field."""


class Pooled(Span, frozen=True, kw_only=True):
    """The geometric mean over cells, each with equal weight."""

    network: str | None
    """Name of the network; None for all networks."""
    connection: ConnectionMode
    parts: tuple[FactorEffect, ...]
    unexplained: Span
    cells: int
    over: str
    """``pages`` means that intervals are over pages and hold for similar pages. ``blocks`` means
    that intervals are over blocks and hold only for these cells."""


class Why(Struct, frozen=True, kw_only=True):
    """The object that ``--json`` prints. Its field names are a contract; fields are only added."""

    a: str
    b: str
    metric: str
    cells: tuple[WhyCell, ...]
    pooled: tuple[Pooled, ...]
    with_rest: tuple[str, ...]
    """Descriptions of factors that could not be changed by themselves and are part of the
    unexplained rest."""
    stacks: int
    orders: int
    orders_possible: int
    clock: ClockKind = "real"
    """The clock of the times, see `dragstrip.model.clock.Clock`."""
    servers: tuple[str, ...] = ()
    """Everything that changes with the step from one server to the other; for two configurations,
    the lines in which they differ."""


def why(study: Study, table: pl.LazyFrame, metric: str = "plt_ms") -> Why:
    """Attribute the difference between the study's two stacks. `study` must have a bridge; `table`
    is the table that `dragstrip.results.observed.observed` takes."""
    assert study.bridge
    bridge = BuiltBridge(study.bridge)
    found = {(c.page, c.network, c.connection): c for c in observed(study, table)}
    cells: dict[CellKey, tuple[WhyCell, dict[str, LogRatio]]] = {}
    for key, seen in found.items():
        if key[1] in study.bridge.copies:
            continue
        tables = _tables(
            bridge,
            {
                on: found.get((key[0], network, key[2]))
                for on, network in study.bridge.without(key[1]).items()
            },
            metric,
        )
        if tables:
            shares = _shares(bridge, tables)
            cell = _cell(seen, tables, bridge, shares, metric)
            found_so = evidence(seen, study.network(key[1]), *_ends(bridge))
            cells[key] = structs.replace(cell, evidence=found_so), shares
    return Why(
        a=bridge.a.name,
        b=bridge.b.name,
        metric=metric,
        cells=tuple(cell for cell, _ in cells.values()),
        pooled=tuple(_pools(study, {k: s for k, (_, s) in cells.items()})),
        with_rest=tuple(f.words for f in bridge.bundled),
        stacks=len(bridge.stacks),
        orders=len(bridge.orders.orders),
        orders_possible=bridge.orders.total,
        clock=study.clock.kind,
        servers=tuple(server_words(bridge.a, bridge.b)),
    )


def _ends(bridge: BuiltBridge) -> tuple[Stack, Stack]:
    """Return A and B as they were raced, under their names in the study."""
    return bridge.stacks[frozenset()], bridge.stacks[bridge.whole]


def measured(bridge: BuiltBridge, seen: Observed, metric: str) -> Measured | None:
    """Return the blocks that count and in which every stack has a time; None if there are none."""
    columns = [seen.of(stack.name, metric).values for stack in bridge.stacks.values()]
    values = np.column_stack(columns)
    values = values[(values > 0).all(axis=1)]
    return Measured(tuple(bridge.stacks), np.log(values)) if len(values) else None


def _shares(bridge: BuiltBridge, tables: Tables) -> dict[str, LogRatio]:
    """Return the share of each factor, by name; the whole difference has an empty name."""
    on = all_conditions(tables)
    conditions = [f.name for f in CONDITIONS if f.name in on]
    orders = attribution.with_conditions(bridge.orders.orders, conditions)
    total = bridge.orders.total * len(orders) // len(bridge.orders.orders)
    names = [*(f.name for f in bridge.players), *conditions]
    whole = attribution.difference(orders, tables)
    return {"": whole} | {n: attribution.share(n, orders, total, tables) for n in names}


def _tables(
    bridge: BuiltBridge, seen: Mapping[Conditions, Observed | None], metric: str
) -> Tables | None:
    """Return the measurements with each set of conditions; None without any of the network as it
    is. A condition whose network was not measured without it is no factor."""
    every = max(seen, key=len)
    found = {on: measured(bridge, one, metric) for on, one in seen.items() if one}
    tables = {on: table for on, table in found.items() if table}
    if every not in tables:
        return None
    told = [name for name in every if all(on - {name} in tables for on in seen)]
    return {on & frozenset(told): t for on, t in tables.items() if every - on <= frozenset(told)}


def _cell(
    seen: Observed,
    tables: Tables,
    bridge: BuiltBridge,
    shares: Mapping[str, LogRatio],
    metric: str,
) -> WhyCell:
    every = all_conditions(tables)
    clear = tables.get(every - {LOSS.name}) if LOSS.name in every else None
    return WhyCell(
        page=seen.page,
        network=seen.network,
        connection=seen.connection,
        **_span(shares[""]),
        parts=_parts(shares),
        unexplained=_unexplained(shares),
        interactions=tuple(_interactions(bridge, tables)),
        value_a=_typical(tables[every], frozenset()),
        value_b=_typical(tables[every], bridge.whole),
        n=len(tables[every].logs),
        n_without_loss=len(clear.logs) if clear else None,
        censored=sum(
            int(seen.of(stack.name, metric).censored.sum()) for stack in bridge.stacks.values()
        ),
    )


def _typical(table: Measured, node: frozenset[str]) -> float:
    return float(np.exp(table.logs[:, list(table.nodes).index(node)].mean()))


def _parts(shares: Mapping[str, LogRatio]) -> tuple[FactorEffect, ...]:
    names = [name for name in KNOWN if name in shares and name != REST.name]
    adjusted = holm([shares[name].p() for name in names])
    return tuple(
        FactorEffect(factor=n, words=KNOWN[n].words, **_span(shares[n]), shown=p <= ALPHA)
        for n, p in zip(names, adjusted, strict=True)
    )


def _unexplained(shares: Mapping[str, LogRatio]) -> Span:
    """Return the unexplained rest. It is 1 if every difference has a factor, because then the last
    stack is B itself."""
    rest = shares.get(REST.name)
    return Span(**_span(rest)) if rest else Span(ratio=1.0, low=1.0, high=1.0)


def _interactions(bridge: BuiltBridge, tables: Tables) -> Iterator[Interaction]:
    found = attribution.interactions(bridge.stacks, tables)
    adjusted = holm([one.p() for one in found.values()])
    for (pair, one), p in zip(found.items(), adjusted, strict=True):
        if p <= ALPHA and abs(one.mean) > MATTERS:
            yield Interaction(factors=pair, **_span(one))


def _pools(study: Study, shares: Mapping[CellKey, Mapping[str, LogRatio]]) -> Iterator[Pooled]:
    """Yield the pools of several cells: each network over its pages, then all cells."""
    networks = dict.fromkeys(key[1] for key in shares)
    wanted: list[str | None] = [*networks, *([None] if len(networks) > 1 else [])]
    for connection in study.connections:
        for network in wanted:
            cells = [
                found
                for (_, over, mode), found in shares.items()
                if mode == connection and network in (over, None)
            ]
            if len(cells) > 1:
                yield _pool(network, connection, cells)


def _pool(
    network: str | None,
    connection: ConnectionMode,
    cells: Sequence[Mapping[str, LogRatio]],
) -> Pooled:
    """Pool cells. A factor that a cell lacks (loss, if the network has none) counts as having no
    effect on that cell."""
    over_pages = network is not None and len(cells) >= _PAGES
    names = list(dict.fromkeys(name for cell in cells for name in cell))
    nothing = LogRatio(0.0, 0.0, 1, 0)
    shares = {
        name: _together([cell.get(name, nothing) for cell in cells], over_pages) for name in names
    }
    return Pooled(
        network=network,
        connection=connection,
        **_span(shares[""]),
        parts=_parts(shares),
        unexplained=_unexplained(shares),
        cells=len(cells),
        over="pages" if over_pages else "blocks",
    )


def _together(found: Sequence[LogRatio], over_pages: bool) -> LogRatio:
    means = np.array([one.mean for one in found])
    k = len(found)
    if over_pages:
        error = float(means.std(ddof=1)) / k**0.5
        return LogRatio(float(means.mean()), error, k - 1, k, third_of_mean(means.tolist()))
    if any(one.error is None for one in found):
        return LogRatio(float(means.mean()), None, 0, k)
    squares = np.array([one.error or 0.0 for one in found]) ** 2 / k**2
    freedoms = np.array([max(one.freedom, 1) for one in found])
    total = float(squares.sum())
    freedom = total**2 / float((squares**2 / freedoms).sum()) if total else 1
    third = sum(one.third for one in found) / k**3
    return LogRatio(float(means.mean()), total**0.5, freedom, k, third)


def _span(found: LogRatio) -> dict[str, Any]:
    low, high = found.interval() or (None, None)
    return {"ratio": found.value, "low": low, "high": high}
