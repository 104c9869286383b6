"""How much of a difference's spread is between groups of blocks, such as restarts of the testbed?

One-way random effects: value = mean + group's own + block's own. The components of the variance are
those of the analysis of variance, whose expected mean squares are equated with what was found. The
interval is that of the mean over future groups: Student's t of the groups' means, each of which
counts once. It is exact where all groups have the same number of blocks and all effects are normal;
how it does elsewhere is in docs/reference/coverage.md.

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
    """Standard deviation of the groups' own effects; 0 where blocks explain all there is."""
    within: float
    """Standard deviation of blocks of one group."""
    p: float
    """The p of "the groups do not differ" (F test); 1 where no group has two blocks."""
    low: float
    high: float
    """95 % interval of the mean over future groups."""


def components(groups: Sequence[Sequence[float]], level: float = 0.95) -> Components | None:
    """Splits the spread of groups. None with fewer than `LEAST_GROUPS` groups, or where a value is
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
