"""A log-ratio ln(b / a) with its standard error: what paired and unpaired comparisons share.

Times are compared by their ratio, and on a logarithmic scale, where "10 % slower" and "10 % faster"
mirror each other and the spread of load times is about the same for quick and slow pages.

Source: Bland and Altman, "The use of transformation when comparing two means", BMJ 312 (1996), 1153
(the interval of the logs, transformed back).
"""

import math

from msgspec import Struct


class LogRatio(Struct, frozen=True):
    """Estimate of ln(b / a); `error` and `freedom` are those of Student's t."""

    mean: float
    error: float | None
    """Standard error of `mean`; None where there are too few values to know."""
    freedom: float
    n: int
    """Pairs, or the smaller of two unpaired samples."""

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


def _exp(log: float) -> float:
    """e to the `log`, infinite instead of an error where few values leave an interval open."""
    return math.exp(log) if log < 700 else math.inf
