"""Ratio of medians and the corpus ratio: known values, and coverage by simulation."""

import math

import numpy as np
import pytest
from scipy.special import ndtri, stdtrit

from dragstrip.stats.bootstrap import expanded
from dragstrip.stats.corpus import corpus_ratio
from dragstrip.stats.median_ratio import paired_median_ratio, unpaired_median_ratio


def test_the_expanded_interval_of_a_mean_is_students():
    """Bootstrap means of n values spread by s sqrt((n - 1) / n) / sqrt(n), all but normally."""
    n, s = 8, 3.0
    bell = ndtri((np.arange(200_000) + 0.5) / 200_000)
    found = expanded(bell * s * math.sqrt((n - 1) / n) / math.sqrt(n), n)
    half = float(stdtrit(n - 1, 0.975)) * s / math.sqrt(n)
    assert found == pytest.approx((-half, half), rel=0.01)
    assert expanded(bell, 1) is None


def test_the_ratio_of_medians_is_not_the_median_of_ratios():
    found = paired_median_ratio([1, 2, 9], [9, 4, 1])
    assert found.value == 2  # 4 / 2; the ratios are 9, 2 and 1/9
    assert found.n == 3


def test_pairs_stay_together():
    a = np.random.default_rng(1).lognormal(5, 1, 20)
    together = paired_median_ratio(a.tolist(), (0.9 * a).tolist())
    apart = unpaired_median_ratio(a.tolist(), (0.9 * a).tolist())
    assert (together.low, together.high) == pytest.approx((0.9, 0.9))
    assert apart.high - apart.low > 0.5


def test_one_block_has_no_interval():
    assert paired_median_ratio([2], [1]).low is None


@pytest.mark.parametrize("ratio", [paired_median_ratio, unpaired_median_ratio])
def test_coverage_of_the_ratio_of_medians(ratio):
    draw = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        a, b = draw.lognormal(0, 0.15, 15).tolist(), (0.9 * draw.lognormal(0, 0.15, 15)).tolist()
        found = ratio(a, b, draws=400)
        covered += found.low <= 0.9 <= found.high
    assert 0.92 <= covered / 400 <= 0.995


def test_every_page_weighs_the_same():
    found = corpus_ratio({"small": [0.0] * 100, "large": [np.log(4)]})
    assert found.value == pytest.approx(2)
    assert found.n == 2


def test_no_pages_are_refused():
    with pytest.raises(ValueError, match="pages"):
        corpus_ratio({})
    with pytest.raises(ValueError, match="pages"):
        corpus_ratio({"empty": []})


def test_pooling_runs_would_be_wrong_and_resampling_pages_is_right():
    """15 pages whose true ratios spread by 10 %, 8 blocks each: coverage of the mean over pages."""
    draw = np.random.default_rng(5)
    covered, pooled = 0, 0
    for _ in range(400):
        pages = draw.normal(0, 0.1, 15)
        logs = {str(i): draw.normal(page, 0.05, 8).tolist() for i, page in enumerate(pages)}
        found = corpus_ratio(logs, draws=400)
        covered += found.low <= 1 <= found.high
        every = np.concatenate(list(logs.values()))
        pooled += abs(every.mean()) <= 1.98 * every.std(ddof=1) / np.sqrt(len(every))
    assert 0.92 <= covered / 400 <= 0.98
    assert pooled / 400 < 0.7
