"""Loads that never ended keep their place: never dropped, never given a made-up time."""

import math

import numpy as np
import pytest

from dragstrip.stats.ranked import FAILED, paired_ranks, unpaired_ranks
from dragstrip.stats.restricted import restricted_median


def test_what_a_failed_load_counts_as():
    found = paired_ranks([100, 100, FAILED, FAILED], [90, FAILED, 90, FAILED])
    assert found.ratios == (0.9, math.inf, 0, 1)


def test_a_stack_that_often_fails_is_slower_and_the_interval_says_without_end():
    a, b = [100.0] * 8, [110.0, 112, 109, FAILED, FAILED, 111, FAILED, FAILED]
    found = paired_ranks(a, b)
    low, high = found.interval()
    assert low == pytest.approx(1.09)
    assert high == math.inf
    assert found.p_above(1) == pytest.approx(2**-8)
    assert found.p_below(1) == 1


def test_failing_equally_often_is_no_difference():
    assert paired_ranks([FAILED, 100], [100, FAILED]).value == 1
    assert paired_ranks([FAILED, FAILED], [FAILED, FAILED]).p_above(1) == 1
    assert unpaired_ranks([FAILED, FAILED], [FAILED, FAILED]).p_above(1) == 1


def test_blocks_on_the_threshold_say_nothing_in_the_sign_test():
    found = paired_ranks([100.0] * 6, [110.0, 120, 130, 100, 100, 100])
    assert found.p_above(1) == pytest.approx(2**-3)


def test_turning_the_comparison_turns_the_tests():
    a, b = [100.0, FAILED, 90, 80, 100], [120.0, 130, 100, FAILED, 101]
    for ranks in (paired_ranks, unpaired_ranks):
        assert ranks(a, b).p_above(1.1) == pytest.approx(ranks(b, a).p_below(1 / 1.1))
    assert paired_ranks(a, b).value * paired_ranks(b, a).value == pytest.approx(1)


def test_a_gate_on_ranks_looks_at_its_threshold():
    found = paired_ranks([100.0] * 10, [107.0, 108, 106, 107, 109, 107, 108, FAILED, 107, 106])
    assert found.p_above(1.05) < 0.025 < found.p_above(1.10)


@pytest.mark.parametrize("ranks", [paired_ranks, unpaired_ranks])
def test_false_alarms_with_one_load_in_ten_failing(ranks):
    draw = np.random.default_rng(6)
    alarms = 0
    for _ in range(400):
        times = draw.lognormal(0, 0.2, (2, 15))
        times[draw.uniform(size=(2, 15)) < 0.1] = FAILED
        alarms += ranks(*times.tolist()).p_above(1) < 0.05
    assert alarms / 400 <= 0.075


def test_the_median_is_exact_while_fewer_than_half_fail():
    found = restricted_median([100, 110, 120, 130, 140], 3, 1000)
    assert (found.value, found.low, found.high, found.n) == (135, 100, None, 8)
    assert found.words() == "median 135 ms (100 ms to above 1000 ms; 3 of 8 loads did not end)"


def test_beyond_half_only_the_limit_is_known():
    found = restricted_median([100], 3, 1000)
    assert found.value is None
    assert found.words() == (
        "median above 1000 ms (too few loads for an interval; 3 of 4 loads did not end)"
    )


def test_a_load_beyond_the_limit_contradicts_itself():
    with pytest.raises(ValueError, match="beyond the limit"):
        restricted_median([1001], 0, 1000)
