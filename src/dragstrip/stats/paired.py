"""Ratio of two stacks from paired observations.

Each block yields one log-ratio ln(b / a); their mean, back on the original scale, is the geometric
mean of the ratios, with Student's t interval for a mean. Logs make "10 % slower" and "10 % faster"
mirror images and the spread of load times about equal across pages and networks; pairing removes
what the block's visits share (link seed, drift of the host).

Source: Bland and Altman, "The use of transformation when comparing two means", BMJ 312 (1996), 1153
(back-transformed log intervals); Montgomery, "Design and Analysis of Experiments" (paired
comparison design).
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from scipy.special import stdtrit


class Ratio(Struct, frozen=True):
    """`low` and `high` are None with fewer than two pairs."""

    value: float
    low: float | None
    high: float | None
    n: int


def ratio(a: Sequence[float], b: Sequence[float], level: float = 0.95) -> Ratio:
    """Geometric mean of b / a over pairs, with its t interval at `level`.

    `a[i]` and `b[i]` come from the same block, are positive and in the same unit. Raises
    `ValueError` without pairs, or if a value is not positive.
    """
    if len(a) != len(b) or not a:
        raise ValueError(f"a ratio needs pairs, not {len(a)} and {len(b)} values")
    if min(*a, *b) <= 0:
        raise ValueError("a ratio needs positive values")
    logs = np.log(np.asarray(b, dtype=float)) - np.log(np.asarray(a, dtype=float))
    n, mean = len(logs), float(logs.mean())
    if n < 2:
        return Ratio(math.exp(mean), None, None, n)
    half = float(stdtrit(n - 1, (1 + level) / 2)) * float(logs.std(ddof=1)) / math.sqrt(n)
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half), n)
