import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.stats.median import median, middle

times = st.floats(min_value=0, max_value=1e6)


def test_even_and_odd_numbers_of_values() -> None:
    assert median([3, 1, 2]).value == 2
    assert median([4, 1, 2, 3]).value == 2.5


def test_no_values_are_refused() -> None:
    with pytest.raises(ValueError, match="no values"):
        median([])


@given(st.lists(times, min_size=6, max_size=60))
def test_the_interval_holds_the_median(values: list[float]) -> None:
    found = median(values)
    assert found.low is not None
    assert found.high is not None
    assert found.low <= found.value <= found.high


@given(st.lists(times, min_size=7, max_size=60), st.floats(min_value=2e6, max_value=1e9))
def test_a_censored_load_counts_by_rank_alone(values: list[float], limit: float) -> None:
    one, other = median([*values, limit]), median([*values, limit * 10])
    assert (one.value, one.low) == (other.value, other.low)


def test_coverage_of_a_skewed_distribution() -> None:
    draw = np.random.default_rng(2)
    found = [median(draw.lognormal(0, 1, 15).tolist()) for _ in range(4000)]
    covered = sum(m.low is not None and m.high is not None and m.low <= 1 <= m.high for m in found)
    assert 0.94 <= covered / 4000 <= 0.965


def test_loads_that_never_ended_are_beyond_all_others() -> None:
    found = median([100, 110, 120, 130, 140, math.inf, math.inf, math.inf])
    assert (found.value, found.high) == (135, math.inf)
    assert median([100, math.inf, math.inf]).value == math.inf
    assert middle([-math.inf, math.inf]) == 0
