"""Computes how much of a difference each of several factors explains.

The loads of all stacks between A and B are measured. The effect of changing a factor depends on
which factors were changed before. A factor's share is its mean effect over all orders that can be
built: the Shapley value for restricted orders. Shares of the logs add up to ln(B / A), so their
ratios multiply to B / A. A share is a linear function of a block's log times, so every block gives
one value. The interval of a share is the interval of the mean of these values
(`dragstrip.stats.log_ratio`).

What the network does to both stacks can be a factor, too: its random loss, and look-ups of names.
The share of such a condition is a difference of differences: how much further apart the stacks are
with it than without.

Sources: Shapley, "A value for n-person games", Contributions to the Theory of Games II (1953);
Faigle and Kern, "The Shapley value for cooperative games under precedence constraints",
International Journal of Game Theory 21 (1992), 249-266; Castro, Gomez and Tejada, "Polynomial
calculation of the Shapley value based on sampling", Computers & OR 36 (2009), 1726-1730 (drawn
orders); Welch, Biometrika 34 (1947), 28-35 (degrees of freedom).
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dragstrip.stats.log_ratio import LogRatio, third_of_mean

Node = frozenset[str]
"""A stack between A and B, as the set of factors that have B's value."""
Order = Sequence[str]
Conditions = frozenset[str]
"""The conditions that a network has, of those that were also taken away."""
Point = tuple[Node, Conditions]
"""A stack on the network with these conditions."""
Weights = Mapping[Point, float]
"""An effect as a linear function of log times: each point with its weight."""
CONDITIONS = frozenset({"loss", "names"})
"""Names of a network's conditions as factors."""


class Measured(NamedTuple):
    """Measurements on one network: one row per block, one column per stack."""

    nodes: Sequence[Node]
    logs: NDArray[np.float64]
    """Natural logs of a metric."""


Tables = Mapping[Conditions, Measured]
"""Measurements of one network, with each set of its conditions. A network of which nothing was
taken away has only the empty set."""


def with_conditions(orders: Iterable[Order], names: Iterable[str]) -> list[Order]:
    """Return all orders that result from inserting these conditions into each order, at every
    place."""
    found = list(orders)
    for name in names:
        found = [(*o[:n], name, *o[n:]) for o in found for n in range(len(o) + 1)]
    return found


def effects(order: Order) -> dict[str, Weights]:
    """Return each factor's effect in this order of changes."""
    return dict(_steps(order))


def _steps(order: Order) -> Iterator[tuple[str, Weights]]:
    start: Node = frozenset()
    for n, name in enumerate(order):
        node = frozenset(order[:n]) - CONDITIONS
        on = frozenset(order[:n]) & CONDITIONS
        if name not in CONDITIONS:
            yield name, _sum({(node | {name}, on): 1.0}, {(node, on): -1.0})
        else:
            apart_with = _sum({(node, on | {name}): 1.0}, {(start, on | {name}): -1.0})
            apart_without = _sum({(node, on): -1.0}, {(start, on): 1.0})
            yield name, _sum(apart_with, apart_without)


def share(name: str, orders: Collection[Order], total: int, tables: Tables) -> LogRatio:
    """Return the factor's mean effect over the orders.

    If the orders were drawn from a larger `total`, the spread of effects between orders widens the
    interval. Orders are drawn without replacement, so the interval widens only by the share of
    orders not drawn.
    """
    weights = [effects(order)[name] for order in orders]
    found = _estimate(_mean(weights), tables)
    if len(weights) == total or found.error is None:
        return found
    apart = np.array([_estimate(w, tables).mean for w in weights])
    if len(apart) < 2:
        return LogRatio(found.mean, None, 0, found.n)
    square = float(apart.var(ddof=1)) / len(apart) * (1 - len(apart) / total)
    own = found.mean, found.error**2, found.freedom, found.third
    return _pooled([own, (0.0, square, len(apart) - 1, 0.0)], found.n)


def difference(orders: Collection[Order], tables: Tables) -> LogRatio:
    """Return ln(B / A) with all conditions, which is the sum of all shares."""
    whole, every = frozenset(next(iter(orders))) - CONDITIONS, all_conditions(tables)
    return _estimate({(whole, every): 1.0, (frozenset(), every): -1.0} if whole else {}, tables)


def all_conditions(tables: Tables) -> Conditions:
    """Return the conditions of the network as it is."""
    return frozenset[str]().union(*tables)


def block_values(name: str, orders: Collection[Order], measured: Measured) -> list[float]:
    """Return the factor's share in each block of one network, none of whose conditions is a
    factor."""
    weights = _mean([effects(order)[name] for order in orders])
    return [float(value) for value in _values(weights, frozenset(), measured)]


def interactions(nodes: Collection[Node], tables: Tables) -> dict[tuple[str, str], LogRatio]:
    """Return the interaction of each pair of factors, in logs: their joint effect minus the sum of
    their single effects. The result is the mean over all stacks to which both factors can be added
    in either order. A positive value means that the two together are slower than their sum."""
    names = sorted(frozenset().union(*nodes))
    known, found, every = set(nodes), {}, all_conditions(tables)
    for a, b in combinations(names, 2):
        corners = [n for n in known if not n & {a, b} and {n | {a}, n | {b}, n | {a, b}} <= known]
        weights = [
            {(n, every): 1.0, (n | {a}, every): -1, (n | {b}, every): -1, (n | {a, b}, every): 1}
            for n in corners
        ]
        if weights:
            found[a, b] = _estimate(_mean(weights), tables)
    return found


def _estimate(weights: Weights, tables: Tables) -> LogRatio:
    """Return an estimate of the mean effect. A network with a condition and without it was measured
    in separate blocks, so their errors are independent."""
    parts, n = [], min(len(table.logs) for table in tables.values())
    for on, table in tables.items():
        values = _values(weights, on, table)
        square = float(values.var(ddof=1)) / len(values) if len(values) > 1 else None
        third = third_of_mean(values.tolist())
        parts.append((float(values.mean()), square, len(values) - 1, third))
    return _pooled(parts, n)


def _values(weights: Weights, on: Conditions, table: Measured) -> NDArray[np.float64]:
    """Return the weighted sum in each block."""
    row = np.array([weights.get((node, on), 0.0) for node in table.nodes])
    values: NDArray[np.float64] = table.logs @ row
    return values


def _pooled(parts: Sequence[tuple[float, float | None, float, float]], n: int) -> LogRatio:
    """Return the sum of independent estimates: means, squared errors, degrees of freedom, third
    cumulants."""
    mean = sum(m for m, _, _, _ in parts)
    squares = [(square, freedom) for _, square, freedom, _ in parts if square != 0]
    if any(square is None for square, _ in squares):
        return LogRatio(mean, None, 0, n)
    known = [(square, freedom) for square, freedom in squares if square]
    total = sum(square for square, _ in known)
    if not known:
        return LogRatio(mean, 0.0, n - 1, n)
    freedom = total**2 / sum(square**2 / freedom for square, freedom in known)
    return LogRatio(mean, math.sqrt(total), freedom, n, sum(third for *_, third in parts))


def _mean(weights: Sequence[Weights]) -> Weights:
    every = _sum(*weights)
    return {point: weight / len(weights) for point, weight in every.items()}


def _sum(*weights: Weights) -> Weights:
    found: dict[Point, float] = {}
    for one in weights:
        for point, weight in one.items():
            found[point] = found.get(point, 0.0) + weight
    return found
