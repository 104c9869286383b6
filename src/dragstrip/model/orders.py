"""Finds the orders in which factors can be changed one by one when some combinations do not
exist."""

import random
from collections.abc import Collection, Iterator

from msgspec import Struct

FactorSet = frozenset[str]
"""Names of the factors that have been changed."""
Order = tuple[str, ...]


class Orders(Struct, frozen=True):
    """Orders of factors: all possible orders, or a random sample of them."""

    orders: tuple[Order, ...]
    total: int
    """Number of possible orders; 0 if the last node cannot be reached."""

    @property
    def drawn(self) -> bool:
        return len(self.orders) < self.total

    def nodes(self) -> frozenset[FactorSet]:
        """Return every node that an order passes, both ends included."""
        return frozenset(node for order in self.orders for node in passed(order))


def passed(order: Order) -> Iterator[FactorSet]:
    """Yield the nodes of an order, both ends included."""
    return (frozenset(order[:n]) for n in range(len(order) + 1))


def find_orders(nodes: Collection[FactorSet], whole: FactorSet, most: int, seed: int) -> Orders:
    """Find orders from the empty node to `whole` that pass only through `nodes`.

    If all orders together pass at most `most` nodes, every order is returned. Otherwise orders are
    sampled with equal probability until the next one would exceed `most`; `seed` determines the
    sample.
    """
    onward = _onward(nodes, whole)
    total = onward.get(frozenset(), 0)
    if not total:
        return Orders((), 0)
    live = {node for node, count in onward.items() if count}
    reached = {node for node in live if _from_start(node, live)}
    if len(reached) <= most:
        return Orders(tuple(_every((), whole, onward)), total)
    draw = random.Random(f"orders:{seed}")
    orders: dict[Order, None] = {}
    seen: set[FactorSet] = set()
    while len(seen | set(passed(order := _one(draw, whole, onward)))) <= most or not orders:
        orders[order] = None
        seen.update(passed(order))
        if len(orders) == total:
            break
    return Orders(tuple(orders), total)


def _onward(nodes: Collection[FactorSet], whole: FactorSet) -> dict[FactorSet, int]:
    """Return the number of orders that lead from each node to `whole`."""
    counts: dict[FactorSet, int] = {}
    for node in sorted(nodes, key=len, reverse=True):
        counts[node] = 1 if node == whole else sum(counts.get(n, 0) for n in _next(node, whole))
    return counts


def _from_start(node: FactorSet, live: set[FactorSet]) -> bool:
    return not node or any(
        before in live and _from_start(before, live) for before in (node - {n} for n in node)
    )


def _next(node: FactorSet, whole: FactorSet) -> Iterator[FactorSet]:
    return (node | {name} for name in sorted(whole - node))


def _every(order: Order, whole: FactorSet, onward: dict[FactorSet, int]) -> Iterator[Order]:
    node = frozenset(order)
    if node == whole:
        yield order
        return
    for name in sorted(whole - node):
        if onward.get(node | {name}):
            yield from _every((*order, name), whole, onward)


def _one(draw: random.Random, whole: FactorSet, onward: dict[FactorSet, int]) -> Order:
    order: Order = ()
    while (node := frozenset(order)) != whole:
        names = sorted(whole - node)
        order = (*order, *draw.choices(names, [onward.get(node | {n}, 0) for n in names]))
    return order
