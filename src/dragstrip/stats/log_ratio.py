"""A mean log-ratio ln(b / a) with its standard error: the shares of `attribution`.

Shares must add up to the whole difference. Means add up and medians do not, so shares use Student's
t, and not the interval of `block_ratio`. Student's interval is too short on the side of the long
tail of skewed values, such as rare late loads. The first term of Edgeworth's expansion moves that
end out; the other end stays. docs/reference/coverage.md shows the remaining error.

Sources: Bland and Altman, "The use of transformation when comparing two means", BMJ 312 (1996),
1153 (the interval of the logs, transformed back); Hall, "On the removal of skewness by
transformation", Journal of the Royal Statistical Society B 54 (1992), 221-228 (the expansion of
Student's t).
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from msgspec import Struct

_HALVINGS = 50
"""Number of times that a p-value's range is halved until the value is known."""


class LogRatio(Struct, frozen=True):
    """A mean of ln(b / a). `error` and `freedom` are the standard error and degrees of freedom of
    Student's t."""

    mean: float
    error: float | None
    """Standard error of `mean`; None if there are too few values."""
    freedom: float
    n: int
    """Number of blocks."""
    third: float = 0.0
    """Third cumulant of `mean`: its skewness times the cube of `error`."""

    @property
    def value(self) -> float:
        """The geometric mean of b / a."""
        return math.exp(self.mean)

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return the confidence interval of b / a; None if there is no standard error."""
        if self.error is None:
            return None
        tail = (1 - level) / 2
        return _exp(self.mean - self._reach(tail, -1)), _exp(self.mean + self._reach(tail, 1))

    def _reach(self, tail: float, side: int) -> float:
        """Return the distance from the mean to the end of the interval on this `side`. Beyond that
        end lie `tail` of the estimates."""
        from scipy.special import ndtri, stdtrit  # SciPy loads slowly, and every command loads this

        assert self.error is not None
        shift = 0.0
        if self.error:
            shift = self.third / self.error**2 * (1 + 2 * float(ndtri(tail)) ** 2) / 6
        return float(stdtrit(self.freedom, 1 - tail)) * self.error + max(0.0, side * shift)

    def p_above(self, ratio: float) -> float:
        """Return the one-sided p of the hypothesis that b / a is at most `ratio`. It is small if b
        / a is really above."""
        return self._tail(self.mean - math.log(ratio), -1)

    def p_below(self, ratio: float) -> float:
        """Return the one-sided p of the hypothesis that b / a is at least `ratio`. It is small if b
        / a is really below."""
        return self._tail(math.log(ratio) - self.mean, 1)

    def p(self) -> float:
        """Return the two-sided p of the hypothesis that there is no difference."""
        return min(1.0, 2 * min(self.p_above(1), self.p_below(1)))

    def _tail(self, distance: float, side: int) -> float:
        """Return the tail for which the interval ends at this distance on this side."""
        if self.error is None:
            return 1.0
        if self.error == 0:
            return 0.0 if distance > 0 else 1.0
        from scipy.special import stdtr

        student = float(stdtr(self.freedom, -distance / self.error))
        if side * self.third <= 0 or student >= 0.5:
            return student
        low, high = student, 0.5
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            low, high = (middle, high) if self._reach(middle, side) > distance else (low, middle)
        return high


def of_mean(logs: Sequence[float], level: float) -> tuple[float, float] | None:
    """Return the interval of the geometric mean of b / a; None with fewer than two blocks."""
    n = len(logs)
    error = stdev(logs) / math.sqrt(n) if n > 1 else None
    return LogRatio(fmean(logs), error, n - 1, n, third_of_mean(logs)).interval(level)


def third_of_mean(values: Sequence[float]) -> float:
    """Return the unbiased third cumulant of the mean (Fisher's k-statistic divided by n²); 0 with
    fewer than three values."""
    n = len(values)
    if n < 3:
        return 0.0
    mean = fmean(values)
    return math.fsum((x - mean) ** 3 for x in values) / (n * (n - 1) * (n - 2))


def _exp(log: float) -> float:
    """Return e to the power of `log`; infinite instead of an overflow error, if few values leave an
    interval open."""
    return math.exp(log) if log < 700 else math.inf
