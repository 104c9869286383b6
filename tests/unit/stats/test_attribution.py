"""Attribution on known ground: what was planted is found, and nothing else."""

import math
from itertools import combinations, permutations

import numpy as np
import pytest

from dragstrip.model.orders import find_orders
from dragstrip.stats.attribution import (
    Measured,
    block_values,
    difference,
    interactions,
    share,
    with_conditions,
)

NAMES = ("a", "b", "c", "rest")
WHOLE = frozenset(NAMES)
LOSS = "loss"
ALONE, LOSSY = frozenset(), frozenset({LOSS})
"""Conditions of a network: none that was taken away, and the loss."""
NODES = [frozenset(c) for n in range(5) for c in combinations(NAMES, n)]
ORDERS = list(permutations(NAMES))


def measured(effect, blocks=8, noise=0.0, nodes=NODES, seed=1) -> Measured:
    """Loads of 1000 ms, changed by `effect` (of a node, a log); a block's loads share its luck."""
    draw = np.random.default_rng(seed)
    luck = draw.normal(0, 0.1, (blocks, 1))
    logs = [[math.log(1000) + effect(node) for node in nodes]] * blocks
    return Measured(nodes, np.array(logs) + luck + draw.normal(0, noise, (blocks, len(nodes))))


def planted(**logs):
    return lambda node: sum(logs.get(name, 0.0) for name in node)


def test_independent_effects_are_given_to_their_factors():
    table = {ALONE: measured(planted(a=-0.2, rest=0.1))}
    found = {name: share(name, ORDERS, len(ORDERS), table).mean for name in NAMES}
    assert found == pytest.approx({"a": -0.2, "b": 0.0, "c": 0.0, "rest": 0.1})
    assert difference(ORDERS, table).mean == pytest.approx(-0.1)


def test_what_two_do_together_is_halved_and_named():
    effect = lambda node: -0.3 if {"a", "b"} <= node else 0.0  # noqa: E731
    table = {ALONE: measured(effect, noise=0.001)}
    assert share("a", ORDERS, 24, table).mean == pytest.approx(-0.15, abs=0.01)
    assert share("b", ORDERS, 24, table).mean == pytest.approx(-0.15, abs=0.01)
    found = interactions(NODES, table)
    assert found["a", "b"].mean == pytest.approx(-0.3, abs=0.01)
    low, high = found["a", "c"].interval()
    assert low < 1 < high


def test_shares_add_up_to_the_difference_whatever_the_effects():
    draw = np.random.default_rng(2)
    logs = {node: draw.normal() for node in NODES}
    tables = {LOSSY: measured(logs.get, noise=0.1), ALONE: measured(logs.get, noise=0.1, seed=3)}
    orders = with_conditions(ORDERS, [LOSS])
    total = sum(share(name, orders, len(orders), tables).mean for name in (*NAMES, LOSS))
    assert total == pytest.approx(difference(orders, tables).mean)


def test_loss_gets_what_only_loss_brings():
    tables = {
        LOSSY: measured(planted(a=-0.2, rest=-0.5)),
        ALONE: measured(planted(a=-0.2, rest=-0.1)),
    }
    orders = with_conditions(ORDERS, [LOSS])
    found = {n: share(n, orders, len(orders), tables).mean for n in (*NAMES, LOSS)}
    assert found["a"] == pytest.approx(-0.2)
    assert found["rest"] == pytest.approx(-0.3)  # half with loss, half without
    assert found[LOSS] == pytest.approx(-0.2)


def test_two_conditions_of_a_network_get_what_each_brings():
    """Loss makes the rest matter more, look-ups make it matter less, and both do nothing more."""
    both = LOSSY | {"names"}
    rest = {both: -0.4, LOSSY: -0.5, frozenset({"names"}): -0.1, ALONE: -0.2}
    tables = {on: measured(planted(a=-0.2, rest=log)) for on, log in rest.items()}
    orders = with_conditions(ORDERS, [LOSS, "names"])
    found = {n: share(n, orders, len(orders), tables).mean for n in (*NAMES, LOSS, "names")}
    assert found["a"] == pytest.approx(-0.2)
    assert found[LOSS] < 0 < found["names"]
    assert sum(found.values()) == pytest.approx(difference(orders, tables).mean)
    assert difference(orders, tables).mean == pytest.approx(-0.6)


def test_orders_that_cannot_be_built_are_left_out():
    nodes = [n for n in NODES if not ("rest" in n and "a" not in n)]  # a before the rest
    orders = find_orders(nodes, WHOLE, 32, 0)
    assert orders.total == 12
    assert all(o.index("a") < o.index("rest") for o in orders.orders)
    table = {ALONE: measured(planted(a=-0.2, rest=-0.1), nodes=nodes)}
    found = share("a", orders.orders, orders.total, table)
    assert found.mean == pytest.approx(-0.2)


def test_drawn_orders_pass_few_stacks_and_widen_the_interval():
    names = tuple("abcdefg")
    nodes = [frozenset(c) for n in range(8) for c in combinations(names, n)]
    orders = find_orders(nodes, frozenset(names), 32, 0)
    assert orders.drawn
    assert len(orders.nodes()) <= 32
    assert orders == find_orders(nodes, frozenset(names), 32, 0)
    assert orders != find_orders(nodes, frozenset(names), 32, 1)
    used = sorted(orders.nodes(), key=lambda n: (len(n), sorted(n)))
    both = lambda node: -0.3 if {"a", "b"} <= node else 0.0  # noqa: E731
    table = {ALONE: measured(both, noise=0.001, nodes=used)}
    every = share("a", orders.orders, len(orders.orders), table)
    drawn = share("a", orders.orders, orders.total, table)
    assert drawn.mean == every.mean
    assert drawn.error > every.error
    low, high = drawn.interval()
    assert low < math.exp(-0.15) < high


@pytest.mark.parametrize("lossy", [False, True])
def test_intervals_cover_and_equal_stacks_attribute_nothing(lossy):
    """Each interval of 200 studies without any difference holds 1 about 190 times."""
    inside = dict.fromkeys((*NAMES, LOSS), 0)
    for seed in range(200):
        tables = {LOSSY if lossy else ALONE: measured(planted(), blocks=5, noise=0.02, seed=seed)}
        if lossy:
            tables[ALONE] = measured(planted(), blocks=7, noise=0.01, seed=1000 + seed)
        orders = with_conditions(ORDERS, [LOSS]) if lossy else ORDERS
        for name in (*NAMES, *[LOSS][:lossy]):
            low, high = share(name, orders, len(orders), tables).interval()
            inside[name] += low <= 1 <= high
    wanted = NAMES if not lossy else (*NAMES, LOSS)
    assert all(180 <= inside[name] <= 199 for name in wanted), inside


def test_a_block_by_itself_has_no_interval_but_a_value():
    table = measured(planted(a=-0.2), blocks=1)
    assert share("a", ORDERS, 24, {ALONE: table}).interval() is None
    assert block_values("a", ORDERS, table) == pytest.approx([-0.2])
