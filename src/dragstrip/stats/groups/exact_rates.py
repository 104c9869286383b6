"""Tests whether several groups fail equally often: Fisher's exact test for a table of groups x
(failed, not).

If the groups do not differ, every way to spread the observed number of failures over the groups has
a known probability. p is the sum over all ways that are no more probable than the observed one. If
there are too many ways to list, Pearson's chi-squared test is as good.

Source: Freeman and Halton, "Note on an exact treatment of contingency, goodness of fit and other
problems of significance", Biometrika 38 (1951), 141-149; for two groups it is Fisher's test.
"""

import math
from collections.abc import Sequence
from functools import reduce

import numpy as np

MOST_TABLES = 200_000
_TIE = 1 + 1e-9
"""Tolerance for rounding, so that tables as probable as the observed one count."""


def exact_rates(failed: Sequence[int], made: Sequence[int]) -> float:
    """Return the p of the hypothesis that all groups fail equally often; group i failed in
    `failed[i]` of `made[i]` cases.

    The p is 1 if there are no groups to compare. Raises `ValueError` if a group has more failures
    than cases.
    """
    groups = [(k, n) for k, n in zip(failed, made, strict=True) if n]
    if any(not 0 <= k <= n for k, n in groups):
        raise ValueError("a group cannot fail more often than it tried")
    total, tries = sum(k for k, _ in groups), sum(n for _, n in groups)
    if len(groups) < 2 or total in (0, tries):
        return 1.0
    if math.prod(min(n, total) + 1 for _, n in groups[:-1]) > MOST_TABLES:
        return _chi_squared(groups)
    # log C(n, k) of every group but the last, for all ways at once. The last group gets the
    # remaining failures.
    ways = [_log_ways(n, np.arange(min(n, total) + 1)) for _, n in groups[:-1]]
    counts = [np.arange(min(n, total) + 1) for _, n in groups[:-1]]
    left = total - reduce(np.add.outer, counts)
    last = groups[-1][1]
    possible = (left >= 0) & (left <= last)
    logs = np.where(
        possible, reduce(np.add.outer, ways) + _log_ways(last, np.clip(left, 0, last)), -np.inf
    )
    logs -= _log_ways(tries, np.array(total))
    seen = logs[tuple(k for k, _ in groups[:-1])]
    return min(1.0, float(np.exp(logs[logs <= seen + math.log(_TIE)]).sum()))


def _log_ways(
    n: int, k: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]"
) -> "np.ndarray[tuple[int, ...], np.dtype[np.float64]]":
    from scipy.special import gammaln  # loads slowly

    logs: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = (
        gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    )
    return logs


def _chi_squared(groups: Sequence[tuple[int, int]]) -> float:
    from scipy.special import chdtrc  # scipy.stats has this test too, but takes seconds to load

    rate = sum(k for k, _ in groups) / sum(n for _, n in groups)
    spread = rate * (1 - rate)
    statistic = sum((k - n * rate) ** 2 / (n * spread) for k, n in groups)
    return float(chdtrc(len(groups) - 1, statistic))
