"""Applies Holm's correction for many tests at once: computes p values that hold for the whole
family.

If every test with an adjusted p below alpha is rejected, the probability of one or more false
alarms in the family is at most alpha, even if the tests depend on each other.

Source: Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of
Statistics 6 (1979), 65-70. For maps, where a share of false cells may be accepted, use
`scipy.stats.false_discovery_control` (Benjamini and Hochberg).
"""

from collections.abc import Sequence


def holm(p: Sequence[float]) -> list[float]:
    """Return the adjusted p values, in the order of `p`."""
    adjusted = [0.0] * len(p)
    worst = 0.0
    for step, i in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        worst = max(worst, min(1.0, (len(p) - step) * p[i]))
        adjusted[i] = worst
    return adjusted
