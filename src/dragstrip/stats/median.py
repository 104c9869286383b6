"""Median with an interval from order statistics.

The number of n observations below the population's median is binomial (n, 1/2), whatever their
distribution, so the interval between two symmetric order statistics covers the median with a
probability that can be counted. It needs ranks only: observations censored at a common limit above
all others may enter with the limit as value.

Source: David and Nagaraja, "Order Statistics", 3rd edition, section 7.1 (confidence intervals for
quantiles).
"""

from collections.abc import Sequence
from functools import cache

from msgspec import Struct


class Median(Struct, frozen=True):
    """`low` and `high` are None if n is too small for the level: below 6 at 95 %."""

    value: float
    low: float | None
    high: float | None
    n: int


def median(values: Sequence[float], level: float = 0.95) -> Median:
    """The median and its distribution-free interval; coverage is at least `level`.

    Raises `ValueError` without values.
    """
    if not values:
        raise ValueError("no values have no median")
    ordered, n = sorted(values), len(values)
    middle = (ordered[(n - 1) // 2] + ordered[n // 2]) / 2
    k = _rank(n, level)
    if k < 1:
        return Median(middle, None, None, n)
    return Median(middle, ordered[k - 1], ordered[n - k], n)


@cache
def _rank(n: int, level: float) -> int:
    """The interval from the k-th smallest to the k-th largest value misses the median with
    probability 2 P(X < k), X binomial (n, 1/2); the largest k that is still allowed is wanted."""
    from scipy.special import bdtr  # SciPy loads slowly, and every command loads this file

    return sum(2 * bdtr(below, n, 0.5) <= 1 - level for below in range(n // 2))
