"""Computes cook2017's box plots: Tukey's box as Plotly draws it.

The whiskers end at the last value within 1.5 times the interquartile range of the box; quartiles
are interpolated by Hazen's rule, as in Plotly.

Source: Cook et al., "QUIC: Better for what and for whom?", ICC 2017, section IV; Tukey,
"Exploratory Data Analysis" (1977), chapter 2; Hyndman and Fan, "Sample quantiles in statistical
packages", The American Statistician 50 (1996), 361-365 (Hazen's is their definition 5).
"""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

REACH = 1.5


class Box(Struct, frozen=True, kw_only=True):
    """A box and its whiskers, in the unit of the values."""

    low: float
    q1: float
    median: float
    q3: float
    high: float
    outliers: tuple[float, ...]
    """Values beyond the whiskers, ascending. They are drawn, and never left out of the
    statistics."""
    n: int


def box(values: Sequence[float]) -> Box:
    """Return the box of some values. Raises `ValueError` without values."""
    if not values:
        raise ValueError("no values, no box")
    q1, middle, q3 = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75], method="hazen"))
    reach = REACH * (q3 - q1)
    inside = [v for v in values if q1 - reach <= v <= q3 + reach]
    return Box(
        low=min(*inside, q1),
        q1=q1,
        median=middle,
        q3=q3,
        high=max(*inside, q3),
        outliers=tuple(sorted(v for v in values if not q1 - reach <= v <= q3 + reach)),
        n=len(values),
    )
