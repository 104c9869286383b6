"""A mean log-ratio ln(b / a) with its standard error: the shares of `attribution`.

Shares must add up to the whole difference. Means do, medians do not, so that shares keep Student's
t where ratios have the interval of `block_ratio`. What that costs: docs/reference/coverage.md.

Source: Bland and Altman, "The use of transformation when comparing two means", BMJ 312 (1996), 1153
(the interval of the logs, transformed back).
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from msgspec import Struct


class LogRatio(Struct, frozen=True):
    """Estimate of ln(b / a); `error` and `freedom` are those of Student's t."""

    mean: float
    error: float | None
    """Standard error of `mean`; None where there are too few values to know."""
    freedom: float
    n: int
    """Blocks."""

    @property
    def value(self) -> float:
        """The geometric mean of b / a."""
        return math.exp(self.mean)

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Confidence interval of b / a; None if there is no standard error."""
        if self.error is None:
            return None
        from scipy.special import stdtrit  # SciPy loads slowly, and every command loads this file

        half = float(stdtrit(self.freedom, (1 + level) / 2)) * self.error
        return _exp(self.mean - half), _exp(self.mean + half)

    def p_above(self, ratio: float) -> float:
        """One-sided p of "b / a is at most `ratio`": small if it is really above."""
        return self._tail(self.mean - math.log(ratio))

    def p_below(self, ratio: float) -> float:
        """One-sided p of "b / a is at least `ratio`": small if it is really below."""
        return self._tail(math.log(ratio) - self.mean)

    def p(self) -> float:
        """Two-sided p of "no difference"."""
        return min(1.0, 2 * min(self.p_above(1), self.p_below(1)))

    def _tail(self, distance: float) -> float:
        if self.error is None:
            return 1.0
        if self.error == 0:
            return 0.0 if distance > 0 else 1.0
        from scipy.special import stdtr

        return float(stdtr(self.freedom, -distance / self.error))


def of_mean(logs: Sequence[float], level: float) -> tuple[float, float] | None:
    """Student's interval of the geometric mean of b / a; None with fewer than two blocks."""
    n = len(logs)
    error = stdev(logs) / math.sqrt(n) if n > 1 else None
    return LogRatio(fmean(logs), error, n - 1, n).interval(level)


def _exp(log: float) -> float:
    """e to the `log`, infinite instead of an error where few values leave an interval open."""
    return math.exp(log) if log < 700 else math.inf
