"""How much sooner does one stack load than another? The typical difference over blocks, in ms.

Each block yields one difference b - a, in which the conditions that its visits share cancel out.
The estimate is their median, with the interval of `dragstrip.stats.order_interval`. A load that
failed counts as later than every load that ended, as in `dragstrip.stats.block_ratio`.
"""

import numpy as np
from msgspec import Struct

from dragstrip.stats.block_ratio import Times
from dragstrip.stats.median import middle
from dragstrip.stats.order_interval import order_interval


class Difference(Struct, frozen=True):
    """b - a in ms. `low` and `high` are None if there are too few blocks for an interval."""

    value: float
    low: float | None
    high: float | None
    n: int


def difference(a: Times, b: Times, level: float = 0.95) -> Difference:
    """Estimate the difference b - a over blocks.

    `a[i]` and `b[i]` come from the same block; a load that never ended is infinite, and two of them
    are equal. Raises `ValueError` without pairs.
    """
    if len(a) != len(b) or len(a) == 0:
        raise ValueError(f"a difference needs pairs, not {len(a)} and {len(b)} values")
    times_a, times_b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    apart = ~(np.isinf(times_a) & np.isinf(times_b))
    found = np.zeros(len(times_a))
    found[apart] = times_b[apart] - times_a[apart]
    ordered = np.sort(found).tolist()
    low, high = order_interval(ordered, level) or (None, None)
    return Difference(middle(ordered), low, high, len(ordered))
