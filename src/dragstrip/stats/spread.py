"""Compares the tail and the width of two samples of load times, by ratios of their 95th percentiles
and interquartile ranges.

A change that only widens the tail leaves the mean ratio where it was. Quantiles are those of
Harrell and Davis: means of all order statistics, weighted by the probability that each is the
quantile, so their bootstrap is smooth. Plain percentile intervals of such a ratio cover it 95 % of
the time from about 100 loads on. With fewer loads they are too narrow for the tail and a little too
wide for the quartiles. So `_outside` moves the percentiles out or in. This function was fitted to
simulated normal, log-normal, exponential and t3 loads (bench/stats/spread.py), for which 95 %
intervals then cover 94 to 97 %. Fewer loads than `LEAST` have no interval.

Sources: Harrell and Davis, "A new distribution-free quantile estimator", Biometrika 69 (1982),
635-640; Efron and Tibshirani, "An Introduction to the Bootstrap" (1993), chapters 13 and 18
(percentile intervals and their calibration).
"""

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Statistic = Literal["p95", "iqr"]
STATISTICS: tuple[Statistic, ...] = ("p95", "iqr")
LEAST: dict[Statistic, int] = {"p95": 31, "iqr": 15}
"""Fewest loads of each stack for an interval."""

_RESAMPLES = 2000
_QUARTILES = 1.2
"""Factor on 1 - level for intervals of the interquartile range."""

Floats = NDArray[np.float64]


class Quantiles(Struct, frozen=True):
    """An estimate of b / a for a statistic. It has the methods of
    `dragstrip.results.compare.capsules.RatioEstimate`."""

    value: float
    n: int
    """Number of loads in the smaller sample."""
    draws: tuple[float, ...] = ()
    """Logs of the resampled ratios, sorted; empty with too few loads."""
    outside: float = 1.0
    """Factor on 1 - level, by which the ends of the interval are moved."""

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return the confidence interval of b / a; None with too few loads."""
        if not self.draws:
            return None
        tail = self.outside * (1 - level) / 2
        low, high = np.quantile(self.draws, [tail, 1 - tail])
        return math.exp(low), math.exp(high)

    def p_above(self, ratio: float) -> float:
        """Return the one-sided p of the hypothesis that b / a is at most `ratio`. It is small if b
        / a is really above."""
        return self._p(np.searchsorted(self.draws, math.log(ratio), "right"))

    def p_below(self, ratio: float) -> float:
        """Return the one-sided p of the hypothesis that b / a is at least `ratio`. It is small if b
        / a is really below."""
        return self._p(len(self.draws) - np.searchsorted(self.draws, math.log(ratio), "left"))

    def _p(self, beyond: int | np.integer) -> float:
        """Return p from the number of draws on the other side. It is never 0, because a finite
        number of draws cannot show that."""
        if not self.draws:
            return 1.0
        return min(1.0, (int(beyond) + 1) / (len(self.draws) + 1) / self.outside)


def quantile_ratio(
    a: Sequence[float], b: Sequence[float], statistic: Statistic, *, paired: bool
) -> Quantiles | None:
    """Return the ratio b / a of a statistic of positive times. With `paired`, `a[i]` and `b[i]` are
    of one block and are resampled together. None if the statistic of either stack is 0."""
    one, other = np.asarray(a, float), np.asarray(b, float)
    n = min(len(one), len(other))
    if not n:
        return None
    of_a, of_b = _statistic(one, statistic), _statistic(other, statistic)
    if not (of_a > 0 and of_b > 0):
        return None
    value = float(of_b / of_a)
    if n < LEAST[statistic]:
        return Quantiles(value, n)
    draw = np.random.default_rng(n)
    first = draw.integers(0, len(one), (_RESAMPLES, len(one)))
    second = first if paired else draw.integers(0, len(other), (_RESAMPLES, len(other)))
    tops, bottoms = _statistic(other[second], statistic), _statistic(one[first], statistic)
    sound = (tops > 0) & (bottoms > 0)
    logs = np.sort(np.log(tops[sound]) - np.log(bottoms[sound]))
    return Quantiles(value, n, tuple(logs.tolist()), _outside(statistic, n))


def statistic_of(times: Sequence[float], statistic: Statistic) -> float:
    """Return the statistic of one sample."""
    return float(_statistic(np.asarray(times, float), statistic))


def _outside(statistic: Statistic, n: int) -> float:
    return _QUARTILES if statistic == "iqr" else min(1.0, (n - 16) / 84)


def _statistic(times: Floats, statistic: Statistic) -> Floats:
    """Return the statistic along the last axis."""
    n, ordered = times.shape[-1], np.sort(times, axis=-1)
    if statistic == "p95":
        percentile: Floats = ordered @ _weights(n, 0.95)
        return percentile
    above = ordered - ordered[..., :1]  # so that equal loads have a range of exactly 0
    width: Floats = above @ (_weights(n, 0.75) - _weights(n, 0.25))
    return width


def _weights(n: int, share: float) -> Floats:
    """Return the weights of the order statistics for the quantile at that share."""
    from scipy.special import betainc  # SciPy loads slowly

    steps = betainc(share * (n + 1), (1 - share) * (n + 1), np.arange(n + 1) / n)
    weights: Floats = np.diff(steps)
    return weights
