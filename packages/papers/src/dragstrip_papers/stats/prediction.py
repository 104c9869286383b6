"""Measures how well one client's page load times predict another's.

Lantern, the best known predictor of page load times, is judged by the same two figures: the rank
correlation over pages and the mean absolute error (Lighthouse, docs/lantern.md).
"""

from collections.abc import Sequence
from math import exp, log

from msgspec import Struct
from scipy.stats import spearmanr

SAME = 0.01
"""Distance of a ratio from 1 below which it decides nothing; our choice."""
NEAR = 0.03
"""Largest difference between two ratios that count as near each other, as a share of the true
ratio; our choice."""


class Errors(Struct, frozen=True, kw_only=True):
    """Errors of predicted against true times, pair by pair."""

    cells: int
    mean_absolute: float
    """Mean absolute error as a share of the true time. The next three fields are shares, too."""
    median_absolute: float
    largest: float
    bias: float
    """Geometric mean of predicted / true, minus 1."""
    rank: float | None
    """Spearman's correlation; None for fewer than three cells, or if all values are equal."""


class Ratios(Struct, frozen=True, kw_only=True):
    """Agreement of predicted and true ratios of two stacks."""

    cells: int
    near: float
    """Share of cells whose ratios are within `NEAR` of each other; 1 without cells."""
    decided: int
    """Number of cells in which the true ratio is further from 1 than `SAME`."""
    same_sign: float
    """Share of decided cells in which the predicted ratio is on the same side of 1; 1 without such
    cells."""


def errors(predicted: Sequence[float], true: Sequence[float]) -> Errors:
    """Return how far predicted times are off. Raises `ValueError` without a cell, or for a time
    that is not above zero."""
    if not true or min(*predicted, *true) <= 0:
        raise ValueError("times must be above zero, and there must be some")
    off = sorted(abs(p / t - 1) for p, t in zip(predicted, true, strict=True))
    logs = [log(p / t) for p, t in zip(predicted, true, strict=True)]
    many = len(off)
    ranked = many > 2 and len(set(predicted)) > 1 and len(set(true)) > 1
    return Errors(
        cells=many,
        mean_absolute=sum(off) / many,
        median_absolute=(off[(many - 1) // 2] + off[many // 2]) / 2,
        largest=off[-1],
        bias=exp(sum(logs) / many) - 1,
        rank=float(spearmanr(predicted, true).statistic) if ranked else None,
    )


def ratios(predicted: Sequence[float], true: Sequence[float]) -> Ratios:
    pairs = list(zip(predicted, true, strict=True))
    decided = [(p, t) for p, t in pairs if abs(log(t)) > log(1 + SAME)]
    near = [abs(p / t - 1) < NEAR for p, t in pairs]
    sides = [(p > 1) == (t > 1) for p, t in decided]
    return Ratios(
        cells=len(pairs),
        near=sum(near) / len(near) if near else 1.0,
        decided=len(decided),
        same_sign=sum(sides) / len(sides) if sides else 1.0,
    )
