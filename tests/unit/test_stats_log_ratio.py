"""Paired and unpaired log-ratios against SciPy's own tests, and what rests on them."""

import math

import numpy as np
import pytest
from scipy.stats import ttest_ind, ttest_rel

from dragstrip.stats.equivalence import tost
from dragstrip.stats.holm import holm
from dragstrip.stats.paired import paired
from dragstrip.stats.unpaired import unpaired

A = [103.0, 98, 110, 95, 101, 99]
B = [91.0, 97, 99, 90, 88, 93]


def test_paired_is_the_t_test_on_logs():
    expected = ttest_rel(np.log(B), np.log(A))
    found = paired(A, B)
    assert found.p() == pytest.approx(expected.pvalue)
    assert found.p_below(1) == pytest.approx(expected.pvalue / 2)
    assert found.p_above(1) == pytest.approx(1 - expected.pvalue / 2)


def test_unpaired_is_welchs_t_test_on_logs():
    longer = [*A, 140.0, 131]
    expected = ttest_ind(np.log(B), np.log(longer), equal_var=False)
    found, interval = unpaired(longer, B), expected.confidence_interval(0.95)
    assert found.p() == pytest.approx(expected.pvalue)
    assert found.interval() == pytest.approx((math.exp(interval.low), math.exp(interval.high)))
    assert found.n == 6


def test_a_threshold_moves_the_test():
    found = paired([100, 100, 100], [111, 110, 112])
    assert found.p_above(1.05) < 0.025 < found.p_above(1.105)


def test_without_spread_any_difference_is_certain_and_none_is_none():
    assert paired([100, 200], [110, 220]).p_above(1) < 1e-6
    assert paired([100, 200], [100, 200]).p() == 1


def test_one_value_a_side_shows_nothing():
    found = unpaired([100], [50])
    assert (found.value, found.interval(), found.p()) == (pytest.approx(0.5), None, 1)


@pytest.mark.parametrize(("a", "b"), [([], [1]), ([1], []), ([1, 0], [1])])
def test_unpaired_refuses_what_is_no_time(a, b):
    with pytest.raises(ValueError, match="a ratio needs"):
        unpaired(a, b)


@pytest.mark.parametrize("level", [0.9, 0.8])
def test_equivalence_is_the_interval_inside_the_margin(level):
    """TOST at alpha is the interval at 1 - 2 alpha (Schuirmann 1987)."""
    found = paired(A, [x * r for x, r in zip(A, [1.01, 0.99, 1.02, 1, 0.98, 1.01], strict=True)])
    low, high = found.interval(level)
    edge = max(high, 1 / low) - 1
    assert tost(found, edge) == pytest.approx((1 - level) / 2)
    assert tost(found, edge * 1.1) < (1 - level) / 2 < tost(found, edge * 0.9)


def test_no_difference_shown_is_not_equivalence():
    found = paired(A, [x * r for x, r in zip(A, [1.5, 0.7, 1.2, 0.8, 1.3, 0.7], strict=True)])
    assert found.p() > 0.5
    assert tost(found, 0.05) > 0.3


def test_an_equivalence_margin_is_above_zero():
    with pytest.raises(ValueError, match="above zero"):
        tost(paired(A, B), 0)


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
