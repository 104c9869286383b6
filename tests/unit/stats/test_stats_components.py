"""Components of variance are SciPy's where groups are equal, and intervals hold their level."""

import math

import numpy as np
import pytest
from scipy.stats import f_oneway, ttest_1samp

from dragstrip.stats.groups.components import components


def groups(seed: int, restarts: int, blocks: int, between: float, within: float) -> list[list]:
    draw = np.random.default_rng(seed)
    own = between * draw.standard_normal((restarts, 1))
    return (own + within * draw.standard_normal((restarts, blocks))).tolist()


def test_equal_groups_give_the_textbooks_formulas():
    """Balanced: the F test of an analysis of variance, and Student's t of the groups' means."""
    made = groups(1, 6, 5, 0.01, 0.02)
    found = components(made)
    assert found
    assert found.p == pytest.approx(f_oneway(*made).pvalue)
    means = [np.mean(group) for group in made]
    within = np.mean([np.var(group, ddof=1) for group in made])
    assert found.within == pytest.approx(math.sqrt(within))
    assert found.between == pytest.approx(math.sqrt(max(0, np.var(means, ddof=1) - within / 5)))
    low, high = ttest_1samp(means, 0).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))


def test_components_come_back_on_average():
    made = [components(groups(seed, 8, 4, 0.02, 0.01)) for seed in range(300)]
    assert np.mean([one.between**2 for one in made if one]) == pytest.approx(0.02**2, rel=0.1)
    assert np.mean([one.within**2 for one in made if one]) == pytest.approx(0.01**2, rel=0.1)


@pytest.mark.parametrize("between", [0.0, 0.005, 0.02])
@pytest.mark.parametrize("restarts", [3, 5, 10])
def test_the_interval_covers_future_restarts(restarts, between):
    """The simulation is bench/stats/coverage.py; the interval over blocks alone covers half."""
    made = [components(groups(seed, restarts, 6, between, 0.01)) for seed in range(1000)]
    held = np.mean([one.low <= 0 <= one.high for one in made if one])
    assert held == pytest.approx(0.95, abs=0.025)


def test_unequal_groups_are_no_reason_against_it():
    draw = np.random.default_rng(3)
    held = 0
    for _ in range(1000):
        own = 0.02 * draw.standard_normal(5)
        made = [
            (o + 0.01 * draw.standard_normal(n)).tolist()
            for o, n in zip(own, (1, 2, 4, 8, 16), strict=True)
        ]
        found = components(made)
        assert found
        held += found.low <= 0 <= found.high
    assert held / 1000 == pytest.approx(0.95, abs=0.025)


def test_two_groups_and_loads_that_never_ended_have_no_answer():
    assert components([[0.1, 0.2], [0.1, 0.3]]) is None
    assert components([[0.1, 0.2], [0.1, math.inf], [0.1]]) is None


def test_single_blocks_are_not_told_apart_from_their_restarts():
    found = components([[0.1], [0.2], [0.3]])
    assert found
    assert (found.within, found.p) == (0.0, 1.0)
