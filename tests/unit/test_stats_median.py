import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.stats.median import median

times = st.floats(min_value=0, max_value=1e6)


def test_even_and_odd_numbers_of_values() -> None:
    assert median([3, 1, 2]).value == 2
    assert median([4, 1, 2, 3]).value == 2.5


@pytest.mark.parametrize(
    ("n", "ranks"),
    [(5, None), (6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (10, (2, 9)), (20, (6, 15)), (31, (10, 22))],
)
def test_ranks_of_the_interval(n: int, ranks: tuple[int, int] | None) -> None:
    """The ranks that tables of the sign test give for 95 %."""
    found = median([float(i) for i in range(1, n + 1)])
    assert (found.low, found.high) == (ranks or (None, None))


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


def test_coverage_of_a_skewed_distribution_is_at_least_nominal() -> None:
    draw = np.random.default_rng(2)
    found = [median(draw.lognormal(0, 1, 15).tolist()) for _ in range(2000)]
    covered = sum(m.low is not None and m.high is not None and m.low <= 1 <= m.high for m in found)
    assert 0.95 <= covered / 2000 <= 0.98  # exactly 0.965 for 15 values
