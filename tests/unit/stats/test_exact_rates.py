"""The exact test of equal rates, against enumeration by others and against its own promise."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from dragstrip.stats.groups import exact_rates as module
from dragstrip.stats.groups.exact_rates import exact_rates


@given(st.tuples(*[st.integers(0, 25)] * 4))
def test_two_groups_are_fishers_test(cells):
    a, b, c, d = cells
    p = exact_rates([a, c], [a + b, c + d])
    assert p == pytest.approx(fisher_exact([[a, b], [c, d]]).pvalue, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=4))
def test_more_groups_are_counted_one_by_one(groups):
    failed, made = [k for k, _ in groups], [k + n for k, n in groups]
    ways = {
        spread: math.prod(math.comb(n, k) for n, k in zip(made, spread, strict=True))
        for spread in itertools.product(*(range(n + 1) for n in made))
        if sum(spread) == sum(failed)
    }
    as_rare = sum(w for w in ways.values() if w <= ways[tuple(failed)])
    assert exact_rates(failed, made) == pytest.approx(as_rare / sum(ways.values()))


def test_nothing_to_compare_is_no_difference():
    assert exact_rates([0, 0], [9, 9]) == exact_rates([9, 9], [9, 9]) == exact_rates([3], [9]) == 1
    assert exact_rates([3, 0], [9, 0]) == 1
    with pytest.raises(ValueError, match="more often than it tried"):
        exact_rates([3, 1], [2, 2])


def test_large_tables_take_chi_squared_and_agree(monkeypatch):
    table = [40, 60, 45, 52], [400, 410, 390, 405]
    monkeypatch.setattr(module, "MOST_TABLES", 10**9)
    exact = exact_rates(*table)
    monkeypatch.setattr(module, "MOST_TABLES", 0)
    assert exact_rates(*table) == pytest.approx(exact, rel=0.05)


def test_equal_rates_are_called_unequal_no_more_often_than_promised():
    draw = np.random.default_rng(1)
    p = [exact_rates(list(draw.binomial(30, 0.1, 3)), [30] * 3) for _ in range(400)]
    assert sum(value < 0.05 for value in p) <= 30
