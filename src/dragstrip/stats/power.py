"""Computes the smallest difference that a number of blocks can detect.

For normal log-ratios the ends of the median's interval have one distribution up to location and
scale, so this distribution is simulated once.
"""

from functools import cache

import numpy as np

from dragstrip.stats.order_interval import least, order_interval

_DRAWS = 20_000


@cache
def detectable(n: int, *, alpha: float, power: float) -> float | None:
    """Return the smallest true difference that the interval of n blocks at 1 - `alpha` detects with
    probability `power`.

    The unit is a standard deviation of the blocks' log-ratios. For times, the standard deviation of
    the logs is about the coefficient of variation. So 1 at a CV of 4 % is a difference of 5.7 %
    between stacks whose visits are independent. None if n blocks have no interval.
    """
    if n < least(1 - alpha):
        return None
    values = np.sort(np.random.default_rng(n).standard_normal((_DRAWS, n)), axis=1)
    lows = [order_interval(row, 1 - alpha) for row in values]
    return -float(np.quantile([low for low, _ in filter(None, lows)], 1 - power))
