"""What an interval counts: loads of these cells, or pages like these."""

import math

import numpy as np
import pytest
from scipy import stats

from dragstrip_papers.cells import Cell
from dragstrip_papers.estimate import SKEWED, Mean
from dragstrip_papers.gains import difference_of, gain_of_means
from dragstrip_papers.populations import LEAST, Sample, evenly, summed

DRAW = np.random.default_rng(58)


def page(name: str, ms: float, gain: float, loads: int = 12, spread: float = 0.05) -> Cell:
    noise = 1 + spread * DRAW.standard_normal((2, loads))
    times = {"a": ms * (1 + gain) * noise[0], "ref": ms * noise[1]}
    factors = {"rtt_ms": 100.0}
    return Cell(page=name, network="n", connection="first", factors=factors, standin=False,
                times=times)  # fmt: skip


def test_two_samples_are_compared_as_scipy_does_by_welch():
    here, there = DRAW.normal(100, 3, 9), DRAW.normal(110, 12, 14)
    found = summed([Sample(there, 1.0), Sample(here, -1.0)], "these")
    welch = stats.ttest_ind(there, here, equal_var=False)
    assert found.freedom == pytest.approx(welch.df)
    assert found.centre / found.error == pytest.approx(welch.statistic)
    assert found.p_above(0) == pytest.approx(min(1, SKEWED * welch.pvalue / 2))
    low, high = welch.confidence_interval(1 - 0.05 / SKEWED)
    assert found.interval() == pytest.approx((low, high))


def test_pages_like_these_are_compared_as_scipy_does_by_one_sample():
    cells = [page(f"p{i}", 1000, -0.1 + 0.02 * i) for i in range(9)]
    found = difference_of(cells, "a", "ref", "gain", "mean", "pages")
    own = [c.times["a"].mean() / c.times["ref"].mean() - 1 for c in cells]
    student = stats.ttest_1samp(own, -0.05)
    assert found.value == pytest.approx(np.mean(own))
    assert isinstance(found, Mean)
    assert found.p_above(-0.05) == pytest.approx(min(1, SKEWED * student.pvalue / 2))


def test_other_pages_could_have_come_out_otherwise_and_these_could_not():
    cells = [page(f"p{i}", 1000, gain) for i, gain in enumerate(np.linspace(-0.4, 0.2, 20))]
    these = difference_of(cells, "a", "ref", "gain", "mean", "these")
    like = difference_of(cells, "a", "ref", "gain", "mean", "pages")
    assert these.value == pytest.approx(like.value)
    assert these.p_below(0) < 1e-6 < like.p_below(0)
    assert width(like) > 4 * width(these)


def width(found) -> float:
    low, high = found.interval()
    return high - low


def test_the_delta_method_agrees_with_a_bootstrap_of_blocks():
    one = page("p", 1000, -0.2, loads=80, spread=0.2)
    values = gain_of_means(one.times["a"], one.times["ref"])
    rows = DRAW.integers(80, size=(4000, 80))
    again = one.times["a"][rows].mean(axis=1) / one.times["ref"][rows].mean(axis=1) - 1
    assert values.std(ddof=1) / math.sqrt(80) == pytest.approx(again.std(), rel=0.05)


def test_every_page_counts_alike_whatever_its_loads():
    cells = [page("many", 1000, -0.2, loads=400), page("few", 1000, 0.2, loads=10)]
    found = difference_of(cells, "a", "ref", "gain", "mean", "these")
    assert found.value == pytest.approx(0, abs=0.03)
    assert isinstance(found, Mean)
    assert found.freedom < 12  # nearly all of the error is that of the page with few loads


@pytest.mark.parametrize("population", ["these", "pages", "page"])
def test_a_few_loads_or_pages_have_no_interval(population):
    cells = [page("p", 1000, -0.2, loads=LEAST - 1)]
    found = summed(evenly(cells, lambda times: times["a"]), population)
    assert found.interval() is None
    assert found.p_above(0) > 0.5


def test_the_interval_of_a_mean_is_as_wide_as_its_guard():
    plain = Mean(1.0, 0.1, 20)
    guarded = Mean(1.0, 0.1, 20, guard=SKEWED)
    edge = guarded.interval()[0]
    assert plain.p_above(edge) == pytest.approx(0.025 / SKEWED)
    assert guarded.p_above(edge) == pytest.approx(0.025)
