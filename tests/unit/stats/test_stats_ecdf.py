import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import CensoredData
from scipy.stats import ecdf as scipys

from dragstrip.stats.ecdf import ecdf


def test_ties_make_one_step() -> None:
    assert ecdf([2, 1, 2, 3]) == [(1, 0.25), (2, 0.75), (3, 1.0)]


def test_loads_that_never_ended_hold_the_curve_below_one() -> None:
    assert ecdf([1, 2], censored=2) == [(1, 0.25), (2, 0.5)]


def test_nothing_loaded_makes_no_step() -> None:
    assert ecdf([], censored=3) == []


@given(st.lists(st.floats(0, 1e6), min_size=1), st.integers(0, 10))
def test_every_step_is_the_share_at_or_below_it(values: list[float], censored: int) -> None:
    total = len(values) + censored
    steps = ecdf(values, censored)
    assert steps == sorted(steps)
    assert all(share == sum(v <= value for v in values) / total for value, share in steps)


def test_it_is_scipys_kaplan_meier() -> None:
    values, limit = [3.0, 1.0, 2.0, 2.0], 9.0
    theirs = scipys(CensoredData(values, right=[limit] * 3)).cdf
    made = dict(ecdf(values, censored=3))
    told = dict(zip(theirs.quantiles, theirs.probabilities, strict=True))
    assert {v: told[v] for v in made} == pytest.approx(made)
