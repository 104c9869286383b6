"""Interpolated order statistics: published ranks, exact coverage, and p values that turn it."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.stats.order_interval import SHORT, least, order_interval, p_above

numbers = st.lists(st.floats(-1e6, 1e6), min_size=5, max_size=40).map(sorted)


@pytest.mark.parametrize(("level", "n"), [(0.9, 4), (0.95, 5), (0.99, 8), (1 - 0.05 / 24, 10)])
def test_the_least_number_of_values(level, n):
    assert least(level) == n
    assert order_interval([0.0] * n, level) == (0, 0)
    assert order_interval([0.0] * (n - 1), level) is None


@pytest.mark.parametrize("level", [0.0, 1.0, 95])
def test_a_level_is_a_share(level):
    with pytest.raises(ValueError, match="between 0 and 1"):
        least(level)


@pytest.mark.parametrize(
    ("n", "outer", "inner"), [(6, 1, 2), (8, 1, 2), (10, 2, 3), (20, 6, 7), (31, 10, 11)]
)
def test_the_ends_lie_between_the_ranks_of_the_sign_test(n, outer, inner):
    """Tables of the sign test give the outer ranks as those of at least 95 %."""
    low, high = order_interval([float(i) for i in range(1, n + 1)], 0.95)
    assert outer <= low < inner
    assert low + high == pytest.approx(n + 1)


def test_ten_values_as_hettmansperger_and_sheather():
    """Ranks 2 and 3 cover 97.85 and 89.06 %: I = 0.3244, lambda = 0.6577 (their equation 2)."""
    low, _ = order_interval([float(i) for i in range(1, 11)], 0.95)
    assert low == pytest.approx(2 + 8 * 0.32444 / (2 + 6 * 0.32444), abs=1e-4)


@pytest.mark.parametrize("n", [5, 6, 7, 10, 31])
def test_coverage_of_the_median_of_two_kinds_of_loads(n):
    """Three loads in ten take half as long again, which defeats means, t and signed ranks
    (coverage.md)."""
    draw = np.random.default_rng(n)
    values = draw.normal(0, 0.03, (4000, n)) + 0.4 * (draw.random((4000, n)) < 0.3)
    truth = 0.017  # the 5/7 quantile of normal (0, 0.03)
    found = [order_interval(sorted(row), 0.95) for row in values.tolist()]
    covered = np.mean([low <= truth <= high for low, high in found])
    assert 0.935 - 0.008 <= covered <= 0.965


@given(numbers)
def test_turned_around_it_is_the_same(values):
    low, high = order_interval(values, 0.95)
    turned = order_interval([-v for v in reversed(values)], 0.95)
    assert (-turned[1], -turned[0]) == (low, high)
    assert values[0] <= low <= high <= values[-1]


apart = st.lists(st.integers(-(10**6), 10**6), min_size=5, max_size=40, unique=True).map(sorted)
"""Whole numbers: nothing lies between neighbours that differ in the last bit alone."""


@given(apart, st.sampled_from([0.9, 0.95, 0.99]))
def test_the_p_of_an_end_is_half_of_what_the_interval_misses(values, level):
    if len(values) <= least(level):
        return
    low, _ = order_interval(values, level)
    assert p_above(values, low) == pytest.approx((1 - level) / 2, rel=1e-3)


def test_beyond_all_values_p_is_what_the_number_of_signs_allows():
    values = [1.0, 2, 3, 4, 5]
    assert p_above(values, 0.9) == 2**-5 / SHORT
    assert p_above(values, 5) == 1
    assert p_above([1.0] * 6, 1.0) == 1


def test_values_beyond_all_others_count_by_rank():
    ended = [1.0, 2, 3, 4, 5, 6, 7]
    assert order_interval([*ended, math.inf, math.inf, math.inf], 0.95)[1] == math.inf
    few = order_interval([-math.inf, *ended, math.inf], 0.95)
    assert few == order_interval([-1e9, *ended, 1e9], 0.95)
    assert order_interval([-math.inf, *ended[:4], math.inf], 0.95) == (-math.inf, math.inf)
    assert order_interval([1.0, *[math.inf] * 5], 0.95) == (1, math.inf)
    assert 1 / 1024 < p_above([1.0, 2, *[math.inf] * 8], 1.5) < 11 / 1024
    assert p_above([1.0, 2, *[math.inf] * 8], 5) == pytest.approx(56 / 1024)
