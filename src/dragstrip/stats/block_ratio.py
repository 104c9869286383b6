"""Estimates how much slower one stack is than another: the typical ratio over blocks.

Each block yields one ratio b / a, in which the conditions that its visits share (link seed, drift
of the host) cancel out. The estimate is the median of these ratios. The median's interval assumes
no distribution: it keeps its level for skewed loads, for outliers, and for loads of two kinds (with
or without a lost packet of the handshake). Swapping a and b inverts the estimate and its interval.

A load that failed or timed out is never dropped. It counts as slower than every load that ended.
The ratio of a block is infinity if only `b` failed, zero if only `a` failed, and one (a tie) if
both failed. An end of an interval may be infinite: then the data cannot exclude that most loads of
that stack fail.

Observations that share no block are paired in the order they were made. This costs precision, but
the interval keeps its level.

Source: `dragstrip.stats.order_interval`; Montgomery, "Design and Analysis of Experiments" (paired
comparison design); Lachin, "Worst-rank score analysis with informatively missing observations in
clinical trials", Controlled Clinical Trials 20 (1999), 408-422 (failed loads).
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dragstrip.stats.median import middle
from dragstrip.stats.order_interval import order_interval, p_above

FAILED = math.inf
"""The time of a load that failed or timed out."""

Times = Sequence[float] | NDArray[np.float64]


class Ratio(Struct, frozen=True):
    """A ratio with its interval. `low` and `high` are None if there are too few values for an
    interval."""

    value: float
    low: float | None
    high: float | None
    n: int


class BlockRatio(Struct, frozen=True):
    """The ratios b / a of several blocks."""

    logs: tuple[float, ...]
    """ln(b / a) of each block, ascending; infinite where a load failed."""

    @property
    def n(self) -> int:
        return len(self.logs)

    @property
    def value(self) -> float:
        """The median of b / a."""
        return _exp(middle(self.logs))

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return the confidence interval of b / a; None with too few blocks for the level."""
        bounds = order_interval(self.logs, level)
        return bounds and (_exp(bounds[0]), _exp(bounds[1]))

    def p_above(self, ratio: float) -> float:
        """Return the one-sided p of the hypothesis that b / a is at most `ratio`. It is small if b
        / a is really above."""
        return p_above(self.logs, math.log(ratio))

    def p_below(self, ratio: float) -> float:
        """Return the one-sided p of the hypothesis that b / a is at least `ratio`. It is small if b
        / a is really below."""
        return p_above([-log for log in reversed(self.logs)], -math.log(ratio))

    def p_apart(self, margin: float) -> float:
        """Return the p of the hypothesis that the stacks differ by `margin` (0.05 is 5 %) or more.
        It is small if they are equivalent.

        These are two one-sided tests: Schuirmann, J. Pharmacokinetics and Biopharmaceutics 15
        (1987), 657-680. Raises `ValueError` if the margin is not above zero.
        """
        if margin <= 0:
            raise ValueError(f"an equivalence margin is above zero, not {margin}")
        return max(self.p_above(1 / (1 + margin)), self.p_below(1 + margin))


def block_ratio(a: Times, b: Times) -> BlockRatio:
    """Return the ratio b / a over blocks. `a[i]` and `b[i]` come from the same block, are positive
    and have the same unit; a load that never ended is `FAILED`. Raises `ValueError` without pairs,
    or if a value is not positive."""
    return BlockRatio(tuple(np.sort(log_ratios(a, b)).tolist()))


def log_ratios(a: Times, b: Times) -> NDArray[np.float64]:
    """Return ln(b / a) of each pair, in the order of the pairs; see `block_ratio`."""
    if len(a) != len(b) or len(a) == 0:
        raise ValueError(f"a ratio needs pairs, not {len(a)} and {len(b)} values")
    times_a, times_b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if min(times_a.min(), times_b.min()) <= 0:
        raise ValueError("a ratio needs positive values")
    logs = np.zeros(len(times_a))
    apart = ~(np.isinf(times_a) & np.isinf(times_b))
    logs[apart] = np.log(times_b[apart]) - np.log(times_a[apart])
    return logs


def ratio(a: Times, b: Times, level: float = 0.95) -> Ratio:
    """Return the ratio b / a over pairs with its interval at `level`; see `block_ratio`."""
    found = block_ratio(a, b)
    low, high = found.interval(level) or (None, None)
    return Ratio(found.value, low, high, found.n)


def matched(a: Mapping[str, float], b: Mapping[str, float]) -> tuple[list[float], list[float]]:
    """Return the values of the blocks that `a` and `b` share, in the order of `a`. The keys are
    block ids."""
    both = [block for block in a if block in b]
    return [a[block] for block in both], [b[block] for block in both]


def _exp(log: float) -> float:
    return math.exp(log) if log < 700 else math.inf
