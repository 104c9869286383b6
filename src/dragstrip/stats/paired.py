"""Ratio of two stacks from paired observations.

Each block yields one log-ratio ln(b / a); their mean, back on the original scale, is the geometric
mean of the ratios, with Student's t interval for a mean. Pairing removes what the block's visits
share (link seed, drift of the host).

Source: Montgomery, "Design and Analysis of Experiments" (paired comparison design); see
`dragstrip.stats.log_ratio` for the logs.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dragstrip.stats.log_ratio import LogRatio


class Ratio(Struct, frozen=True):
    """`low` and `high` are None if there are too few values for an interval."""

    value: float
    low: float | None
    high: float | None
    n: int


Times = Sequence[float] | NDArray[np.float64]


def matched(a: Mapping[str, float], b: Mapping[str, float]) -> tuple[list[float], list[float]]:
    """Values of the blocks, by id, that both have, in the order of `a`."""
    both = [block for block in a if block in b]
    return [a[block] for block in both], [b[block] for block in both]


def log_ratios(a: Times, b: Times) -> NDArray[np.float64]:
    """ln(b / a) of each pair: `a[i]` and `b[i]` come from the same block.

    All values are positive and in the same unit. Raises `ValueError` without pairs, or if a value
    is not positive.
    """
    if len(a) != len(b) or len(a) == 0:
        raise ValueError(f"a ratio needs pairs, not {len(a)} and {len(b)} values")
    times_a, times_b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if min(times_a.min(), times_b.min()) <= 0:
        raise ValueError("a ratio needs positive values")
    logs: NDArray[np.float64] = np.log(times_b) - np.log(times_a)
    return logs


def paired(a: Times, b: Times) -> LogRatio:
    """Mean of ln(b / a) over pairs, see `log_ratios`. Raises `ValueError` as that does."""
    logs = log_ratios(a, b)
    n = len(logs)
    error = float(logs.std(ddof=1)) / math.sqrt(n) if n > 1 else None
    return LogRatio(float(logs.mean()), error, n - 1, n)


def ratio(a: Times, b: Times, level: float = 0.95) -> Ratio:
    """Geometric mean of b / a over pairs, with its t interval at `level`; see `paired`."""
    found = paired(a, b)
    low, high = found.interval(level) or (None, None)
    return Ratio(found.value, low, high, found.n)
