"""Computes an interval for a median that keeps its level whatever the distribution of the values.

The number of values below the population's median is binomial (n, 1/2). So the probability that the
interval between two symmetric order statistics covers the median is known. Only some levels are
available like that; for other levels the ends are interpolated. The only assumption is that the
values are independent. An infinite value (a load that never ended) counts like any other.

Source: David and Nagaraja, "Order Statistics", 3rd edition, section 7.1; Hettmansperger and
Sheather, "Confidence intervals based on interpolated order statistics", Statistics & Probability
Letters 4 (1986), 75-79. Coverage by simulation: docs/reference/coverage.md.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache

SHORT = 1.3
"""Factor by which the interval from the smallest to the largest value may miss more often than
requested: five values cover 93.75 %, and are accepted for 95 %."""


def order_interval(ordered: Sequence[float], level: float) -> tuple[float, float] | None:
    """Return the interval of the median, from ascending values; None with fewer values than `least`
    gives for this level."""
    n, miss = len(ordered), (1 - level) / 2
    if n < least(level):
        return None
    k, between = _place(n, miss)
    if k == 0:
        return ordered[0], ordered[-1]
    low = _towards(ordered[k - 1], ordered[k], between, -math.inf)
    high = _towards(ordered[n - k], ordered[n - k - 1], between, math.inf)
    return low, high


@cache
def least(level: float) -> int:
    """Return the fewest values that have an interval: 5 at 95 %, 10 at 99.8 %.

    Raises `ValueError` for a level that is not between 0 and 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"a level lies between 0 and 1, not {level}")
    n = 2
    while 2.0 ** (1 - n) > SHORT * (1 - level) * (1 + 1e-9):
        n += 1
    return n


def p_above(ordered: Sequence[float], point: float) -> float:
    """Return the one-sided p of the hypothesis that the median is at most `point`.

    This p is half of the error probability of the interval whose lower end is `point`. If all
    values lie above `point`, it is 2^-n / `SHORT`.
    """
    n, k = len(ordered), bisect_right(ordered, point)
    if k in (0, n):
        return 2.0**-n / SHORT if k == 0 else 1.0
    tails = _tails(n)
    below, above = ordered[k - 1], ordered[k]
    if math.isinf(below) or math.isinf(above):
        return tails[k]
    share = (point - below) / (above - below)
    step = share * k / (n - k - share * (n - 2 * k))
    return tails[k - 1] + step * (tails[k] - tails[k - 1])


@cache
def _place(n: int, miss: float) -> tuple[int, float]:
    """Return where the interval ends: the rank k of the outer order statistic (0 if there is none),
    and the share of the way from there to the next one (Hettmansperger and Sheather, equation
    2)."""
    tails = _tails(n)
    k = sum(tail <= miss for tail in tails[: n // 2])
    if k == 0:
        return 0, 0.0
    step = (miss - tails[k - 1]) / (tails[k] - tails[k - 1])
    return k, (n - k) * step / (k + (n - 2 * k) * step)


@cache
def _tails(n: int) -> tuple[float, ...]:
    """Return P(at most k of n values lie below the median), for k from 0."""
    ways, total, tails = 1, 0, []  # in exact integers: `math.comb` for each k takes n times longer
    for k in range(n + 1):
        total += ways
        tails.append(total / 2**n)
        ways = ways * (n - k) // (k + 1)
    return tuple(tails)


def _towards(outer: float, inner: float, share: float, beyond: float) -> float:
    """Return the value at `share` of the way from `outer` to `inner`, limited by `beyond`."""
    if outer == inner or share == 0:
        return outer
    if math.isinf(outer):
        return beyond if outer == beyond else inner
    return outer if math.isinf(inner) else outer + share * (inner - outer)
