"""A/A control and power."""

import numpy as np
import pytest
from scipy.stats import binomtest

from dragstrip.stats.control import false_alarms, noise_floor
from dragstrip.stats.paired import paired
from dragstrip.stats.power import detectable


def test_alarms_and_their_interval_are_binomial():
    found = false_alarms([0.01] * 15 + [0.5] * 185, 0.05)
    expected = binomtest(15, 200, 0.05, alternative="greater")
    interval = binomtest(15, 200).proportion_ci(0.95, "exact")
    assert (found.alarms, found.rate) == (15, 0.075)
    assert found.p == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(("p", "ends"), [([0.5] * 10, (0, 0.3085)), ([0.0] * 10, (0.6915, 1))])
def test_none_and_all(p, ends):
    found = false_alarms(p, 0.05)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-4)


def test_the_noise_floor_counts_both_directions_alike():
    assert noise_floor([1.1, 1 / 1.1, 1.1]) == pytest.approx(0.1)
    assert noise_floor([1.0] * 99 + [2.0]) < 0.01


@pytest.mark.parametrize("estimate", [lambda: false_alarms([], 0.05), lambda: noise_floor([])])
def test_without_a_comparison_there_is_no_control(estimate):
    with pytest.raises(ValueError, match="A/A"):
        estimate()


@pytest.mark.parametrize(("n", "sds"), [(5, 2.7), (10, 1.7), (31, 0.89), (100, 0.49)])
def test_what_n_runs_can_show(n, sds):
    """alpha 0.01, power 0.8, two samples of n."""
    found = detectable(n, alpha=0.01, power=0.8, paired=False)
    assert found == pytest.approx(sds, abs=0.05)


def test_paired_power_is_what_a_simulation_finds():
    effect = detectable(12, alpha=0.05, power=0.8, paired=True) * 0.1
    draw = np.random.default_rng(7)
    found = 0
    for _ in range(1500):
        logs = draw.normal(effect, 0.1, 12)
        found += paired([1.0] * 12, np.exp(logs).tolist()).p() < 0.05
    assert found / 1500 == pytest.approx(0.8, abs=0.035)
