"""Computes kakhki2017's map: the percent difference of a cell, or a blank if Welch's test finds no
difference.

Positive means that `b` (QUIC) is faster than `a` (TCP), in percent of `a`'s mean.

Source: Kakhki et al., "Taking a Long Look at QUIC", IMC 2017 (at least ten rounds back to back,
Welch's t test at p < 0.01).
"""

import warnings
from collections.abc import Sequence
from statistics import fmean

ALPHA = 0.01


def percent_faster(a: Sequence[float], b: Sequence[float], alpha: float = ALPHA) -> float | None:
    """Return how much faster `b` is, in percent; None for a blank cell. Raises `ValueError` with
    fewer than two loads of either stack."""
    if min(len(a), len(b)) < 2:
        raise ValueError("Welch's test needs at least two loads of each stack")
    from scipy.stats import ttest_ind  # slow to import

    difference = (fmean(a) - fmean(b)) / fmean(a) * 100
    if len(set(a)) == len(set(b)) == 1:  # no spread at all: any difference is real
        return difference or None
    with warnings.catch_warnings():  # one side without spread, as in virtual time, is no error
        warnings.simplefilter("ignore", RuntimeWarning)
        p = ttest_ind(a, b, equal_var=False).pvalue
    return difference if p < alpha else None
