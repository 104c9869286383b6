"""Ratio of the medians b / a, with a bootstrap interval.

The ratio of medians compares two typical loads; the median of ratios, which pairs give too, is
another number. Loads censored at the client's limit may enter with the limit as long as both
medians stay below it; a resampled median that reaches it makes that end a bound.

Source: Efron and Tibshirani, "An Introduction to the Bootstrap", chapters 6 and 8 (pairs are
resampled together); interval: `dragstrip.stats.bootstrap`.
"""

from collections.abc import Sequence

import numpy as np

from dragstrip.stats.bootstrap import expanded
from dragstrip.stats.paired import Ratio


def paired_median_ratio(
    a: Sequence[float], b: Sequence[float], level: float = 0.95, draws: int = 2000, seed: int = 0
) -> Ratio:
    """From pairs of the same blocks. Raises `ValueError` without pairs."""
    if len(a) != len(b) or not a:
        raise ValueError(f"a ratio needs pairs, not {len(a)} and {len(b)} values")
    picked = np.random.default_rng(seed).integers(len(a), size=(draws, len(a)))
    return _ratio(np.asarray(a, float), np.asarray(b, float), picked, picked, level)


def unpaired_median_ratio(
    a: Sequence[float], b: Sequence[float], level: float = 0.95, draws: int = 2000, seed: int = 0
) -> Ratio:
    """From two independent samples. Raises `ValueError` if one is empty."""
    if not a or not b:
        raise ValueError(f"a ratio needs values on both sides, not {len(a)} and {len(b)}")
    draw = np.random.default_rng(seed)
    in_a, in_b = (draw.integers(len(s), size=(draws, len(s))) for s in (a, b))
    return _ratio(np.asarray(a, float), np.asarray(b, float), in_a, in_b, level)


def _ratio(a: np.ndarray, b: np.ndarray, in_a: np.ndarray, in_b: np.ndarray, level: float) -> Ratio:
    n = min(len(a), len(b))
    replicates = np.median(b[in_b], axis=1) / np.median(a[in_a], axis=1)
    low, high = expanded(replicates, n, level) or (None, None)
    return Ratio(float(np.median(b) / np.median(a)), low, high, n)
