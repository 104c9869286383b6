"""Intervals of means: Student's, with the end towards a long tail moved out."""

import math
from statistics import fmean, stdev

import numpy as np
import pytest
from msgspec import structs

from dragstrip.stats.log_ratio import LogRatio, of_mean, third_of_mean

EVEN = [-0.03, -0.01, 0.0, 0.01, 0.03]
LATE = [0.0, 0.01, -0.01, 0.02, 0.4]
"""One load in five is late."""


def made(values: list[float]) -> LogRatio:
    n = len(values)
    return LogRatio(fmean(values), stdev(values) / math.sqrt(n), n - 1, n, third_of_mean(values))


def logs(found: LogRatio, level: float = 0.95) -> list[float]:
    interval = found.interval(level)
    assert interval
    return [math.log(end) for end in interval]


def test_even_values_have_students_interval():
    half = 2.7764451 * stdev(EVEN) / math.sqrt(5)  # t of 4 degrees of freedom, 97.5 %
    assert logs(made(EVEN)) == pytest.approx([-half, half])


@pytest.mark.parametrize("side", [1, -1])
def test_only_the_end_towards_the_late_load_moves(side):
    found = made([side * value for value in LATE])
    wide, plain = logs(found), logs(structs.replace(found, third=0.0))
    far, near = (1, 0) if side > 0 else (0, 1)
    assert wide[near] == plain[near]
    shift = found.third / found.error**2 * (1 + 2 * 1.959964**2) / 6
    assert wide[far] - plain[far] == pytest.approx(shift)
    assert side * shift > 0


@pytest.mark.parametrize("values", [EVEN, LATE, [-value for value in LATE]])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_p_is_where_the_interval_ends(values, level):
    found = made(values)
    low, high = found.interval(level)
    assert found.p_above(low) == pytest.approx((1 - level) / 2)
    assert found.p_below(high) == pytest.approx((1 - level) / 2)


def test_the_third_cumulant_is_unbiased_and_needs_three_values():
    assert third_of_mean([0.0, 1.0]) == 0.0
    draw = np.random.default_rng(1)
    found = [third_of_mean(row.tolist()) for row in draw.exponential(size=(20_000, 4))]
    assert fmean(found) == pytest.approx(2 / 4**2, rel=0.1)  # an exponential's third cumulant is 2


def test_rare_late_loads_are_covered_more_often_than_by_students_alone():
    draw = np.random.default_rng(2)
    studies = 0.03 * draw.normal(size=(1000, 31)) + math.log(1.5) * (draw.random((1000, 31)) < 0.1)
    truth = math.exp(0.1 * math.log(1.5))
    held = {"mean": 0, "student": 0}
    for values in studies.tolist():
        low, high = of_mean(values, 0.95)
        held["mean"] += low <= truth <= high
        low, high = structs.replace(made(values), third=0.0).interval()
        held["student"] += low <= truth <= high
    assert held["mean"] > held["student"] + 20


def test_too_few_values_have_no_interval():
    assert of_mean([0.1], 0.95) is None
    assert LogRatio(0.1, None, 0, 1).p() == 1.0


def test_values_without_any_spread_are_certain():
    found = made([0.1, 0.1, 0.1])
    assert structs.replace(found, error=0.0, third=0.0).p() == 0.0
