"""Bootstrap intervals: the percentile interval, widened for small samples.

The plain percentile interval is too narrow by about sqrt((n - 1) / n) and by the step from t to z;
taking percentiles further out makes good for both.

Source: Hesterberg, "What teachers should know about the bootstrap", The American Statistician 69
(2015), 371-386 (expanded percentile interval).
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit


def expanded(
    replicates: NDArray[np.float64], n: int, level: float = 0.95
) -> tuple[float, float] | None:
    """Interval from bootstrap replicates of a statistic on `n` resampled units (blocks, pages).

    None with fewer than two units.
    """
    if n < 2:
        return None
    t = float(stdtrit(n - 1, (1 + level) / 2))
    tail = float(ndtr(-t * math.sqrt(n / (n - 1))))
    low, high = np.quantile(replicates, [tail, 1 - tail])
    return float(low), float(high)
