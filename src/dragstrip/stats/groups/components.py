"""Measures how much of a difference's spread is between groups of blocks, such as restarts of the
testbed.

The model has one-way random effects: value = mean + effect of the group + effect of the block. The
variance components come from the analysis of variance, by equating expected and observed mean
squares. The interval is for the mean over future groups: Student's t on the groups' means, each
with equal weight. The interval is exact if all groups have the same number of blocks and all
effects are normal; docs/reference/coverage.md shows its coverage in other cases.

Source: Searle, Casella and McCulloch, "Variance Components" (1992), section 3.6 (unequal groups);
Burdick and Graybill, "Confidence Intervals on Variance Components" (1992), section 3.3 (unweighted
means).
"""

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from msgspec import Struct

LEAST_GROUPS = 3
"""Fewest groups. With two, Student's t says next to nothing: its quantile is 12.7."""


class Components(Struct, frozen=True):
    """Parts of the spread, in the unit of the values."""

    mean: float
    """Mean of the groups' means."""
    between: float
    """Standard deviation of the groups' own effects; 0 if the blocks' spread explains all of it."""
    within: float
    """Standard deviation between blocks of one group."""
    p: float
    """The p of the hypothesis that the groups do not differ (F test); 1 if no group has two
    blocks."""
    low: float
    high: float
    """Upper end of the interval of the mean over future groups; `low` is the lower end."""


def components(groups: Sequence[Sequence[float]], level: float = 0.95) -> Components | None:
    """Split the spread of the values. None with fewer than `LEAST_GROUPS` groups, or if a value is
    infinite."""
    from scipy.special import fdtrc, stdtrit  # SciPy loads slowly

    sizes = [len(group) for group in groups]
    if len(groups) < LEAST_GROUPS or not all(math.isfinite(v) for g in groups for v in g):
        return None
    means = [fmean(group) for group in groups]
    n, k = sum(sizes), len(groups)
    whole = sum(size * mean for size, mean in zip(sizes, means, strict=True)) / n
    among = sum(s * (m - whole) ** 2 for s, m in zip(sizes, means, strict=True)) / (k - 1)
    inside = sum((v - m) ** 2 for g, m in zip(groups, means, strict=True) for v in g)
    freedom = n - k
    within = inside / freedom if freedom else 0.0
    typical = (n - sum(size**2 for size in sizes) / n) / (k - 1)
    between = max(0.0, (among - within) / typical)
    half = float(stdtrit(k - 1, (1 + level) / 2)) * stdev(means) / math.sqrt(k)
    centre = fmean(means)
    return Components(
        mean=centre,
        between=math.sqrt(between),
        within=math.sqrt(within),
        p=float(fdtrc(k - 1, freedom, among / within)) if within else 1.0,
        low=centre - half,
        high=centre + half,
    )
