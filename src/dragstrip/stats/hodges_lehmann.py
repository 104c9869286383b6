"""Hodges-Lehmann estimate of the ratio b / a, with the interval of the matching rank test.

Paired: the median of all pairwise averages of the blocks' log-ratios, with the interval of
Wilcoxon's signed-rank test; the log-ratios need to be symmetric, not normal. Unpaired: the median
of all differences of logs, with the interval of the Mann-Whitney test. A few wild values do little
to either.

Source: Hodges and Lehmann, "Estimates of location based on rank tests", Annals of Mathematical
Statistics 34 (1963), 598-611; Hollander, Wolfe and Chicken, "Nonparametric Statistical Methods",
3rd edition, sections 3.3 and 4.3 (intervals).
"""

import math
from collections.abc import Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from dragstrip.stats.paired import Ratio, log_ratios

_EXACT = 50
"""Above this many values a side the normal approximation is good to a rank."""


def paired_shift(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Ratio:
    """b / a from pairs. Raises `ValueError` without pairs, or if a value is not positive."""
    logs = log_ratios(a, b)
    n = len(logs)
    walsh = np.add.outer(logs, logs)[np.triu_indices(n)] / 2
    if n <= _EXACT:
        rank = _rank(_signed_rank(n), level)
    else:
        rank = _normal(n * (n + 1) / 4, n * (n + 1) * (2 * n + 1) / 24, level)
    return _found(walsh, rank, n)


def unpaired_shift(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Ratio:
    """b / a from two independent samples; infinite values are worst ranks, two of them a tie.

    Raises `ValueError` if a sample is empty or a value is not positive.
    """
    if not a or not b:
        raise ValueError(f"a ratio needs values on both sides, not {len(a)} and {len(b)}")
    if min(*a, *b) <= 0:
        raise ValueError("a ratio needs positive values")
    with np.errstate(invalid="ignore"):  # two infinite values: a tie
        shifts = np.subtract.outer(np.log(np.asarray(b, float)), np.log(np.asarray(a, float)))
    shifts = np.where(np.isnan(shifts), 0.0, shifts).ravel()
    m, n = len(a), len(b)
    if max(m, n) <= _EXACT:
        rank = _rank(_rank_sum(min(m, n), max(m, n)), level)
    else:
        rank = _normal(m * n / 2, m * n * (m + n + 1) / 12, level)
    return _found(shifts, rank, min(m, n))


def _found(shifts: NDArray[np.float64], rank: int, n: int) -> Ratio:
    """The median and the `rank`-th smallest and largest value, as ratios."""
    ordered = np.exp(np.sort(shifts))
    value = float(np.median(ordered))
    if rank < 1:
        return Ratio(value, None, None, n)
    return Ratio(value, float(ordered[rank - 1]), float(ordered[-rank]), n)


def _rank(counts: Sequence[int], level: float) -> int:
    """The largest k for which the statistic is below k with a probability the level allows."""
    allowed = (1 - level) / 2 * sum(counts)
    total, rank = 0, 0
    for count in counts:
        total += count
        if total > allowed:
            break
        rank += 1
    return rank


def _normal(mean: float, variance: float, level: float) -> int:
    return max(0, math.floor(mean + float(ndtri((1 - level) / 2)) * math.sqrt(variance)))


@cache
def _signed_rank(n: int) -> tuple[int, ...]:
    """How many of the 2^n signs give each signed-rank sum, from 0 up."""
    counts = [1]
    for rank in range(1, n + 1):
        grown = counts + [0] * rank
        for i, count in enumerate(counts):
            grown[i + rank] += count
        counts = grown
    return tuple(counts)


@cache
def _rank_sum(m: int, n: int) -> tuple[int, ...]:
    """How many orders of m and n values give each Mann-Whitney count, from 0 up: the coefficients
    of the Gaussian binomial, the product of (1 - q^(n+i)) / (1 - q^i) for i = 1 .. m."""
    counts = [1] + [0] * (m * n)
    for i in range(1, m + 1):
        for j in range(m * n, n + i - 1, -1):
            counts[j] -= counts[j - n - i]
        for j in range(i, m * n + 1):
            counts[j] += counts[j - i]
    return tuple(counts)
