"""The typical ratio over blocks: turned around, shifted, with loads that never ended."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.stats.block_ratio import FAILED, block_ratio, log_ratios, ratio
from dragstrip.stats.holm import holm
from dragstrip.stats.order_interval import SHORT

positive = st.floats(min_value=1, max_value=1e6)
pairs = st.lists(st.tuples(positive, positive), min_size=5, max_size=30)


def test_a_constant_ratio_has_an_interval_of_no_width():
    found = ratio([100, 200, 400, 300, 50], [90, 180, 360, 270, 45])
    assert [found.value, found.low, found.high] == pytest.approx([0.9, 0.9, 0.9])
    assert found.n == 5


def test_five_blocks_have_the_interval_from_least_to_greatest_and_four_have_none():
    a, b = [100.0] * 5, [91.0, 97, 99, 90, 88]
    found = ratio(a, b)
    assert [found.value, found.low, found.high] == pytest.approx([0.91, 0.88, 0.99])
    few = ratio(a[:4], b[:4])
    assert (few.low, few.high, few.n) == (None, None, 4)


@pytest.mark.parametrize(("a", "b"), [([], []), ([1], [1, 2]), ([0, 1], [1, 1]), ([1], [-1])])
def test_what_is_no_pair_of_times_is_refused(a, b):
    with pytest.raises(ValueError, match="a ratio needs"):
        ratio(a, b)


@given(pairs)
def test_turning_the_comparison_inverts_everything(made):
    a, b = [x for x, _ in made], [y for _, y in made]
    one, other = block_ratio(a, b), block_ratio(b, a)
    assert one.value * other.value == pytest.approx(1)
    assert one.interval()[0] * other.interval()[1] == pytest.approx(1)
    assert one.p_above(1.0987654) == pytest.approx(other.p_below(1 / 1.0987654))


@given(pairs, st.floats(min_value=0.1, max_value=10))
def test_what_slows_a_whole_block_leaves_the_ratio_alone(made, factor):
    a, b = [x for x, _ in made], [y for _, y in made]
    slowed = ratio([x * factor for x in a], [y * factor for y in b])
    assert slowed.value == pytest.approx(ratio(a, b).value)


def test_a_threshold_moves_the_test():
    found = block_ratio([100.0] * 8, [111.0, 110, 112, 109, 111, 110, 113, 110])
    assert found.p_above(1.05) < 0.025 < found.p_above(1.105)
    assert found.p_below(1.05) == 1


@pytest.mark.parametrize("level", [0.9, 0.8])
def test_equivalence_is_the_interval_inside_the_margin(level):
    """Two one-sided tests at alpha are the interval at 1 - 2 alpha (Schuirmann 1987)."""
    found = block_ratio([100.0] * 9, [101.0, 99, 102, 100, 98, 101.5, 100.5, 99.5, 97])
    low, high = found.interval(level)
    edge = max(high, 1 / low) - 1
    assert found.p_apart(edge) == pytest.approx((1 - level) / 2, rel=1e-6)
    assert found.p_apart(edge * 1.2) < (1 - level) / 2 < found.p_apart(edge * 0.9)


def test_no_difference_shown_is_not_equivalence():
    found = block_ratio([100.0] * 6, [150.0, 70, 120, 80, 130, 70])
    assert found.interval()[0] < 1 < found.interval()[1]
    assert found.p_apart(0.05) > 0.3
    with pytest.raises(ValueError, match="above zero"):
        found.p_apart(0)


def test_what_a_failed_load_counts_as():
    logs = log_ratios([100, 100, FAILED, FAILED], [90, FAILED, 90, FAILED])
    assert logs.tolist() == pytest.approx([math.log(0.9), math.inf, -math.inf, 0])


def test_a_stack_that_often_fails_is_slower_and_the_interval_says_without_end():
    found = block_ratio([100.0] * 8, [110.0, 112, 109, FAILED, FAILED, 111, FAILED, FAILED])
    low, high = found.interval()
    assert 1.09 <= low < 1.1
    assert high == math.inf
    assert found.p_above(1) == 2**-8 / SHORT
    assert found.p_below(1) == 1


def test_failing_equally_often_is_no_difference():
    assert ratio([FAILED, 100], [100, FAILED]).value == 1
    assert ratio([FAILED, FAILED], [FAILED, FAILED]).value == 1
    assert block_ratio([FAILED] * 6, [FAILED] * 6).p_above(1) == 1


def test_false_alarms_with_one_load_in_ten_failing():
    draw = np.random.default_rng(6)
    alarms = 0
    for _ in range(1000):
        times = draw.lognormal(0, 0.2, (2, 15))
        times[draw.uniform(size=(2, 15)) < 0.1] = FAILED
        alarms += block_ratio(*times).p_above(1) < 0.05
    assert alarms / 1000 <= 0.065


def test_holms_own_steps():
    """0.01 x 4, 0.02 x 3, 0.03 x 2; the last may not fall below the one before."""
    assert holm([0.02, 0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.06, 0.04, 0.06])
    assert holm([0.9, 0.6]) == [1, 1]
    assert holm([]) == []


def test_holm_holds_the_error_of_the_whole_family():
    draw = np.random.default_rng(3)
    families = draw.uniform(size=(4000, 38))
    alarms = sum(min(holm(p)) < 0.05 for p in families.tolist())
    assert 0.04 <= alarms / 4000 <= 0.06
