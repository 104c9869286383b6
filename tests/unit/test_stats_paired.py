import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from dragstrip.stats.paired import ratio

positive = st.floats(min_value=1, max_value=1e6)
pairs = st.lists(st.tuples(positive, positive), min_size=2, max_size=30)


def test_a_constant_ratio_has_an_interval_of_no_width() -> None:
    found = ratio([100, 200, 400], [90, 180, 360])
    assert [found.value, found.low, found.high] == pytest.approx([0.9, 0.9, 0.9])
    assert found.n == 3


def test_the_interval_is_that_of_the_paired_t_test_on_logs() -> None:
    a, b = [103.0, 98, 110, 95, 101], [91.0, 97, 99, 90, 88]
    expected = ttest_rel(np.log(b), np.log(a)).confidence_interval(0.95)
    found = ratio(a, b)
    assert found.low == pytest.approx(math.exp(expected.low))
    assert found.high == pytest.approx(math.exp(expected.high))


def test_one_pair_gives_a_ratio_without_interval() -> None:
    found = ratio([200], [100])
    assert found.value == pytest.approx(0.5)
    assert (found.low, found.high, found.n) == (None, None, 1)


@pytest.mark.parametrize(("a", "b"), [([], []), ([1], [1, 2]), ([0, 1], [1, 1])])
def test_what_is_no_pair_of_times_is_refused(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="a ratio needs"):
        ratio(a, b)


@given(pairs)
def test_turning_the_comparison_inverts_ratio_and_interval(made: list[tuple[float, float]]) -> None:
    a, b = [x for x, _ in made], [y for _, y in made]
    one, other = ratio(a, b), ratio(b, a)
    assert one.value * other.value == pytest.approx(1)
    assert one.low is not None
    assert other.high is not None
    assert math.log(one.low) == pytest.approx(-math.log(other.high), abs=1e-6)


@given(pairs, st.floats(min_value=0.1, max_value=10))
def test_what_slows_a_whole_block_leaves_the_ratio_alone(
    made: list[tuple[float, float]], factor: float
) -> None:
    a, b = [x for x, _ in made], [y for _, y in made]
    slowed = ratio([x * factor for x in a], [y * factor for y in b])
    assert slowed.value == pytest.approx(ratio(a, b).value)


def test_the_interval_covers_a_known_ratio_as_often_as_it_says() -> None:
    """2000 studies of 8 blocks, 10 % noise per visit and 30 % between blocks, true ratio 0.9."""
    draw = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        block = draw.lognormal(0, 0.3, 8)
        a = 1000 * block * draw.lognormal(0, 0.1, 8)
        b = 900 * block * draw.lognormal(0, 0.1, 8)
        found = ratio(a.tolist(), b.tolist())
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.9 <= found.high
    assert 0.935 <= covered / 2000 <= 0.965
