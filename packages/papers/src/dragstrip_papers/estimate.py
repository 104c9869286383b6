"""Defines estimates of a number from our loads. An estimate has an interval, and p values that say
on which side of another number it lies.

`p_above(x)` is the probability of such loads if the number were at most x; it is small if the
number is shown to be above x. An interval at a level ends where p is half of 1 - level.
"""

import math
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from typing import Protocol

import numpy as np
from msgspec import Struct
from scipy.special import bdtrc, stdtr, stdtrit

from dragstrip.stats.median import middle
from dragstrip.stats.order_interval import order_interval, p_above
from dragstrip_papers.measured import Values

LEVEL = 0.95
SKEWED = 5.0
"""Factor by which Student's t of a mean of loads may miss more often than its level says. With five
loads, one in ten of which is late, it calls up to 15 % of edge cases shown instead of 2.5 %, for a
claim with two parts. So such a mean counts as shown at a fifth of the level, and its interval is
wider accordingly. docs/reference/claims-power.md has the measurements."""


class Estimate(Protocol):
    @property
    def value(self) -> float: ...
    @property
    def floor(self) -> float:
        """Return the least possible p, whatever the loads."""

    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % interval; None with too few blocks or pages."""

    def p_above(self, point: float) -> float: ...
    def p_below(self, point: float) -> float: ...


class Mean(Struct, frozen=True):
    """A mean or a share with its standard error, by Student's t. With infinite freedom this is the
    normal distribution."""

    centre: float
    error: float
    freedom: float = math.inf
    low: float = -math.inf
    high: float = math.inf
    """Upper limit that the number cannot exceed."""
    guard: float = 1.0
    """Factor on the p of Student's t, see `SKEWED`."""
    ratio: bool = False
    """Whether the mean is one of logarithms. Then e to the power of the mean is shown."""

    @property
    def value(self) -> float:
        return _back(self.centre) if self.ratio else self.centre

    @property
    def floor(self) -> float:
        return 0.0

    def interval(self) -> tuple[float, float] | None:
        """Return the 95 % interval; None if the error is not known."""
        if not math.isfinite(self.error):
            return None
        half = self._quantile(1 - (1 - LEVEL) / 2 / self.guard) * self.error
        low, high = max(self.low, self.centre - half), min(self.high, self.centre + half)
        return (_back(low), _back(high)) if self.ratio else (low, high)

    def p_above(self, point: float) -> float:
        return self._tail(self.centre - self._there(point))

    def p_below(self, point: float) -> float:
        return self._tail(self._there(point) - self.centre)

    def _there(self, point: float) -> float:
        return _log(point) if self.ratio else point

    def _tail(self, distance: float) -> float:
        if self.error == 0:
            return 0.0 if distance > 0 else 1.0
        return min(1.0, self.guard * float(stdtr(min(self.freedom, 1e9), -distance / self.error)))

    def _quantile(self, share: float) -> float:
        return float(stdtrit(min(self.freedom, 1e9), share))


class Typical(Struct, frozen=True, dict=True):
    """The median over rounds or pages, with the interval of `dragstrip.stats.order_interval`."""

    units: Sequence[float]
    ratio: bool = False
    """Whether values are logarithms of ratios."""

    @cached_property
    def ordered(self) -> list[float]:
        return sorted(float(u) for u in self.units)

    @property
    def value(self) -> float:
        middle_ = middle(self.ordered)
        return _back(middle_) if self.ratio else middle_

    @property
    def floor(self) -> float:
        return p_above(self.ordered, -math.inf)

    def interval(self) -> tuple[float, float] | None:
        found = order_interval(self.ordered, LEVEL)
        if found is None or not self.ratio:
            return found
        return _back(found[0]), _back(found[1])

    def p_above(self, point: float) -> float:
        return p_above(self.ordered, self._there(point))

    def p_below(self, point: float) -> float:
        return p_above([-u for u in reversed(self.ordered)], -self._there(point))

    def _there(self, point: float) -> float:
        return _log(point) if self.ratio else point


def _back(unit: float) -> float:
    return math.exp(min(unit, 700.0))


def _log(point: float) -> float:
    return math.log(point) if point > 0 else -math.inf


class Greatest(Struct, frozen=True, dict=True):
    """The greatest of several numbers, each estimated by itself.

    The greatest is below a point if all numbers are shown to be below it. It is above the point if
    one number is shown to be, corrected for how many there are, or if more are than chance explains
    (see `several`). The greatest of the estimates is biased upwards, so it is shown but does not
    decide.
    """

    parts: Sequence[Estimate]

    @property
    def value(self) -> float:
        return max(part.value for part in self.parts)

    @property
    def floor(self) -> float:
        return max(part.floor for part in self.parts)

    def interval(self) -> tuple[float, float] | None:
        if any(part.interval() is None for part in self.parts):
            return None
        miss = (1 - LEVEL) / 2
        highest = max(part.interval()[1] for part in self.parts)  # type: ignore[index]
        points = sorted(part.value for part in self.parts)
        shown = bisect_right(points, miss, key=self.p_above)
        lowest = min(part.interval()[0] for part in self.parts)  # type: ignore[index]
        return points[shown - 1] if shown else lowest, highest

    def p_above(self, point: float) -> float:
        return several([part.p_above(point) for part in self.parts])

    def p_below(self, point: float) -> float:
        return max(part.p_below(point) for part in self.parts)


FIVE_AGREE = 1 / 32
"""Least p that one part with five blocks can have."""


def several(p: Sequence[float]) -> float:
    """Return the p of the hypothesis that the statement is true of no part, for independent parts.
    One candidate is the least p times the number of parts (Bonferroni). The other is the
    probability that by chance this many parts have a p that five blocks can reach (Wilkinson). The
    smaller of the two counts, doubled for the choice.

    Source: Wilkinson, "A statistical consideration in psychological research", Psychological
    Bulletin 48 (1951), 156-158.
    """
    if len(p) == 1:
        return p[0]
    many = sum(one <= FIVE_AGREE for one in p)
    by_count = float(bdtrc(many - 1, len(p), FIVE_AGREE)) if many else 1.0
    return min(1.0, 2 * min(len(p) * min(p), by_count))


def mean_of(
    values: Sequence[float] | Values, low: float = -math.inf, high: float = math.inf
) -> Mean:
    """Return the mean with Student's t. One value does not show its error."""
    found = np.asarray(values, dtype=float)
    n = len(found)
    error = float(found.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    return Mean(float(found.mean()), error, max(n - 1, 1), low, high)


def words(found: Estimate, unit: str = "") -> str:
    """Write the estimate with its interval: ``0.87 [0.84, 0.91]``."""
    unit = f" {unit}" if unit else ""
    span = found.interval()
    if span is None:
        return f"{found.value:.4g}{unit}, too few blocks for an interval"
    return f"{found.value:.4g}{unit} [{span[0]:.4g}, {span[1]:.4g}]"
