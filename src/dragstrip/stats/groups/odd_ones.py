"""Finds which of many groups differ from all others.

A rank test compares each group with all others together, so a few outliers single out no group. The
p values are corrected for the number of groups.

Source: Mann and Whitney, "On a test of whether one of two random variables is stochastically larger
than the other", Annals of Mathematical Statistics 18 (1947), 50-60; `dragstrip.stats.holm`.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from dragstrip.stats.holm import holm


class OddGroup(Struct, frozen=True):
    group: str
    shift: float
    """Median of the group minus the median of the others."""
    p: float
    """Probability of such a shift by chance, adjusted for the number of groups."""


def odd_ones(groups: Mapping[str, Sequence[float]], least: int = 5) -> list[OddGroup]:
    """Test every group of at least `least` values. Smaller groups count only among the others."""
    from scipy.stats import mannwhitneyu  # slow to import

    names = np.repeat(list(groups), [len(own) for own in groups.values()])
    values = np.array([value for own in groups.values() for value in own], dtype=float)
    shifts = []
    for name, own in groups.items():
        others = values[names != name]
        if len(own) < least or len(others) < least:
            continue
        p = float(mannwhitneyu(own, others).pvalue)
        shifts.append(OddGroup(name, float(np.median(own) - np.median(others)), p))
    adjusted = holm([one.p for one in shifts])
    return [OddGroup(one.group, one.shift, p) for one, p in zip(shifts, adjusted, strict=True)]
