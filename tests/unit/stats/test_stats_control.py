"""A/A control and power."""

import numpy as np
import pytest
from scipy.stats import binomtest

from dragstrip.stats.block_ratio import BlockRatio
from dragstrip.stats.control import false_alarms, noise_floor
from dragstrip.stats.power import detectable


def test_alarms_and_their_interval_are_binomial():
    found = false_alarms([True] * 15 + [False] * 185, 0.05)
    expected = binomtest(15, 200, 0.05, alternative="greater")
    interval = binomtest(15, 200).proportion_ci(0.95, "exact")
    assert (found.alarms, found.rate) == (15, 0.075)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(
    ("shown", "ends"), [([False] * 10, (0, 0.3085)), ([True] * 10, (0.6915, 1))]
)
def test_none_and_all(shown, ends):
    found = false_alarms(shown, 0.05)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-4)


def test_the_noise_floor_counts_both_directions_alike():
    assert noise_floor([1.1, 1 / 1.1, 1.1]) == pytest.approx(0.1)
    assert noise_floor([1.0] * 99 + [2.0]) < 0.01


@pytest.mark.parametrize("estimate", [lambda: false_alarms([], 0.05), lambda: noise_floor([])])
def test_without_a_comparison_there_is_no_control(estimate):
    with pytest.raises(ValueError, match="A/A"):
        estimate()


@pytest.mark.parametrize(("n", "sds"), [(10, 1.12), (31, 0.62), (100, 0.35)])
def test_power_is_what_a_simulation_finds(n, sds):
    found = detectable(n, alpha=0.05, power=0.8)
    assert found == pytest.approx(sds, abs=0.03)
    draw = np.random.default_rng(7)
    shown = sum(
        BlockRatio(tuple(sorted(draw.normal(found, 1, n)))).interval()[0] > 1 for _ in range(1500)
    )
    assert shown / 1500 == pytest.approx(0.8, abs=0.035)


def test_too_few_blocks_show_nothing():
    assert detectable(4, alpha=0.05, power=0.8) is None
    assert detectable(5, alpha=0.05, power=0.8) > 1.5
