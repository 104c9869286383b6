import math
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.stats.hodges_lehmann import (
    _normal,
    _rank,
    _rank_sum,
    _signed_rank,
    paired_shift,
    unpaired_shift,
)

positive = st.floats(min_value=1, max_value=1e6)


def test_signed_ranks_counted_by_hand():
    for n in range(1, 8):
        sums = [sum(r for r, s in enumerate(signs, 1) if s) for signs in product((0, 1), repeat=n)]
        assert _signed_rank(n) == tuple(sums.count(i) for i in range(max(sums) + 1))


def test_rank_sums_counted_by_hand():
    for m, n in ((1, 1), (2, 3), (3, 4)):
        orders = set(permutations("a" * m + "b" * n))
        wins = [sum(x == "b" for i, c in enumerate(o) if c == "a" for x in o[:i]) for o in orders]
        assert _rank_sum(m, n) == tuple(wins.count(i) for i in range(m * n + 1))


@pytest.mark.parametrize(("n", "rank"), [(5, 0), (6, 1), (8, 4), (10, 9), (20, 53), (31, 148)])
def test_ranks_of_the_signed_rank_interval(n, rank):
    """One more than the tabled critical values of Wilcoxon's test, two-sided 5 %."""
    assert _rank(_signed_rank(n), 0.95) == rank


@pytest.mark.parametrize(("m", "n", "rank"), [(3, 3, 0), (4, 4, 1), (5, 8, 7), (10, 10, 24)])
def test_ranks_of_the_mann_whitney_interval(m, n, rank):
    """One more than the tabled critical values of the Mann-Whitney test, two-sided 5 %."""
    assert _rank(_rank_sum(m, n), 0.95) == rank


def test_the_normal_approximation_takes_over_smoothly():
    assert abs(_normal(50 * 51 / 4, 50 * 51 * 101 / 24, 0.95) - _rank(_signed_rank(50), 0.95)) <= 1
    assert abs(_normal(1250, 2500 * 101 / 12, 0.95) - _rank(_rank_sum(50, 50), 0.95)) <= 1


def test_one_wild_block_moves_it_little():
    a = [100.0] * 12
    b = [89.0, 90, 91, 90, 89.5, 90.5, 90, 90.2, 90.1, 89.9, 90.3, 9000]
    found = paired_shift(a, b)
    assert found.value == pytest.approx(0.9, abs=0.005)
    assert found.high is not None
    assert found.high < 1


@given(st.lists(st.tuples(positive, positive), min_size=1, max_size=12))
def test_turning_the_comparison_inverts_it(made):
    a, b = [x for x, _ in made], [y for _, y in made]
    for shift in (paired_shift, unpaired_shift):
        one, other = shift(a, b), shift(b, a)
        if one.low is not None:
            assert one.low * other.high == pytest.approx(1)
        if len(a) == 1:
            assert one.value * other.value == pytest.approx(1)


def test_failed_loads_are_the_worst_rank_on_either_side():
    found = unpaired_shift([100, 101, 102, 99], [math.inf, math.inf, math.inf, math.inf])
    assert (found.value, found.low) == (math.inf, math.inf)
    tied = unpaired_shift([100, math.inf], [100, math.inf])
    assert tied.value == 1


@pytest.mark.parametrize(("a", "b"), [([], []), ([0.0], [1.0]), ([1.0], [-1.0])])
@pytest.mark.parametrize("shift", [paired_shift, unpaired_shift])
def test_what_is_no_time_is_refused(shift, a, b):
    with pytest.raises(ValueError, match="a ratio needs"):
        shift(a, b)


@pytest.mark.parametrize("shift", [paired_shift, unpaired_shift])
def test_coverage_of_a_known_ratio(shift):
    """1000 studies of 12, 20 % noise, true ratio 0.9."""
    draw = np.random.default_rng(4)
    covered = 0
    for _ in range(1000):
        a, b = draw.lognormal(0, 0.2, 12), 0.9 * draw.lognormal(0, 0.2, 12)
        found = shift(a.tolist(), b.tolist())
        covered += found.low <= 0.9 <= found.high
    assert 0.935 <= covered / 1000 <= 0.97
