"""The tail and the width of two samples of load times, compared: ratios of the 95th percentile and
of the interquartile range.

A change that only widens the tail leaves the mean ratio where it was. Quantiles are Harrell and
Davis's: means of all order statistics, weighted by how likely each is the quantile, so that a
bootstrap of them is smooth. Plain percentile intervals of such a ratio hold 95 % of the time from
about 100 loads on; with fewer they are too narrow for the tail and a little too wide for the
quartiles. So percentiles are taken further out or in, as `_outside` says. That was fitted to
simulated normal, log-normal, exponential and t3 loads (bench/stats/spread.py), of which 95 %
intervals then hold 94 to 97 %. Fewer loads than `LEAST` have no interval.

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
"""Loads of each stack from which on there is an interval."""

_RESAMPLES = 2000
_QUARTILES = 1.2
"""Factor of the level's complement for the interquartile range."""

Floats = NDArray[np.float64]


class Quantiles(Struct, frozen=True):
    """Estimate of b / a in a statistic; an `Estimate` of `dragstrip.results.compare.capsules`."""

    value: float
    n: int
    """Loads of the smaller sample."""
    draws: tuple[float, ...] = ()
    """Logs of the resampled ratios, sorted; empty with too few loads."""
    outside: float = 1.0
    """Factor by which the complement of a level is multiplied."""

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Confidence interval of b / a; None with too few loads."""
        if not self.draws:
            return None
        tail = self.outside * (1 - level) / 2
        low, high = np.quantile(self.draws, [tail, 1 - tail])
        return math.exp(low), math.exp(high)

    def p_above(self, ratio: float) -> float:
        """One-sided p of "b / a is at most `ratio`": small if it is really above."""
        return self._p(np.searchsorted(self.draws, math.log(ratio), "right"))

    def p_below(self, ratio: float) -> float:
        """One-sided p of "b / a is at least `ratio`": small if it is really below."""
        return self._p(len(self.draws) - np.searchsorted(self.draws, math.log(ratio), "left"))

    def _p(self, beyond: int | np.integer) -> float:
        """The p from the number of draws on the other side; never 0, which no number of draws can
        show."""
        if not self.draws:
            return 1.0
        return min(1.0, (int(beyond) + 1) / (len(self.draws) + 1) / self.outside)


def quantile_ratio(
    a: Sequence[float], b: Sequence[float], statistic: Statistic, *, paired: bool
) -> Quantiles | None:
    """The ratio b / a in a statistic of positive times. With `paired`, `a[i]` and `b[i]` are of one
    block and resampled together. None where a statistic is 0, because then there is no ratio."""
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
    """The statistic of one sample."""
    return float(_statistic(np.asarray(times, float), statistic))


def _outside(statistic: Statistic, n: int) -> float:
    return _QUARTILES if statistic == "iqr" else min(1.0, (n - 16) / 84)


def _statistic(times: Floats, statistic: Statistic) -> Floats:
    """The statistic along the last axis."""
    n, ordered = times.shape[-1], np.sort(times, axis=-1)
    if statistic == "p95":
        percentile: Floats = ordered @ _weights(n, 0.95)
        return percentile
    above = ordered - ordered[..., :1]  # so that equal loads have a range of exactly 0
    width: Floats = above @ (_weights(n, 0.75) - _weights(n, 0.25))
    return width


def _weights(n: int, share: float) -> Floats:
    """Weights of the order statistics for the quantile at that share."""
    from scipy.special import betainc  # SciPy loads slowly

    steps = betainc(share * (n + 1), (1 - share) * (n + 1), np.arange(n + 1) / n)
    weights: Floats = np.diff(steps)
    return weights
