"""Errors of predictions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip_papers.stats.prediction import errors, ratios

TIMES = st.lists(st.integers(1000, 10**8), min_size=3, max_size=20, unique=True).map(
    lambda thousandths: [t / 1000 for t in thousandths]
)
"""Far enough apart that no factor makes two of them equal."""


@given(TIMES, st.floats(0.5, 2))
def test_a_prediction_that_is_always_off_by_a_factor_ranks_perfectly(true, factor):
    found = errors([t * factor for t in true], true)
    assert found.rank == pytest.approx(1)
    assert found.bias == pytest.approx(factor - 1, abs=1e-9)
    assert found.mean_absolute == pytest.approx(abs(factor - 1), abs=1e-9)
    assert found.largest == pytest.approx(found.median_absolute, abs=1e-9)


def test_errors_by_hand():
    found = errors([110, 90, 200], [100, 100, 100])
    assert found.mean_absolute == pytest.approx((0.1 + 0.1 + 1) / 3)
    assert found.median_absolute == pytest.approx(0.1)
    assert found.largest == pytest.approx(1)
    assert errors([1.0], [1.0]).rank is found.rank is None
    for wrong in (([], []), ([0.0], [1.0])):
        with pytest.raises(ValueError, match="above zero"):
            errors(*wrong)


def test_a_ratio_near_one_decides_nothing():
    found = ratios([0.9, 1.1, 0.5, 1.2], [1.005, 1.09, 0.8, 0.9])
    assert found.cells == 4
    assert found.near == 0.25
    assert (found.decided, found.same_sign) == (3, pytest.approx(2 / 3))
    assert ratios([], []).same_sign == 1.0
