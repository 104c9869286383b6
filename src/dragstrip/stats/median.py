"""The median of one stack's loads, with the interval of `dragstrip.stats.order_interval`."""

import math
from collections.abc import Sequence

from msgspec import Struct

from dragstrip.stats.order_interval import order_interval


class Median(Struct, frozen=True):
    """A median with its interval. `low` and `high` are None if n is too small for the level: below
    5 at 95 %. An infinite value stands for loads that never ended."""

    value: float
    low: float | None
    high: float | None
    n: int


def median(values: Sequence[float], level: float = 0.95) -> Median:
    """Return the median with its interval. `values` may contain infinity, for loads that never
    ended. Raises `ValueError` without values."""
    if not values:
        raise ValueError("no values have no median")
    ordered = sorted(values)
    low, high = order_interval(ordered, level) or (None, None)
    return Median(middle(ordered), low, high, len(values))


def middle(ordered: Sequence[float]) -> float:
    """Return the median of ascending values: the middle value, or the mean of the two in the
    middle; 0 between minus and plus infinity."""
    n = len(ordered)
    low, high = ordered[(n - 1) // 2], ordered[n // 2]
    if low == high:
        return low
    return 0.0 if low == -math.inf and high == math.inf else (low + high) / 2
