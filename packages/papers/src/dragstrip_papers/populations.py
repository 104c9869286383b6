"""Defines what a claim is about, which decides what its interval covers.

`these` means these very cells: only their loads are random. `pages` means pages like these: the
choice of pages is random, and so are their loads. `page` means one page that the claim names: only
its loads are random.

The statistic is the paper's own. A mean has an interval by Student's t, a median has one by order
statistics (`dragstrip.stats.order_interval`).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct

from dragstrip_papers.cells import Cell, Statistic, by_page, by_round
from dragstrip_papers.estimate import SKEWED, Estimate, Mean, Typical
from dragstrip_papers.measured import Values

Population = Literal["these", "pages", "page"]
LEAST = 5
"""Fewest loads, or pages, for an interval of a mean. A median needs as many."""

Measure = Callable[[Mapping[str, Values]], Values]
"""Returns one value per round, from the loads of a cell by stack."""


class Sample(Struct, frozen=True):
    """The contribution of one cell's loads to a sum: `weight` times the mean of `values`."""

    values: Values
    weight: float
    page: str = ""


def estimate(
    found: Sequence[Cell],
    each: Measure,
    means: Measure,
    statistic: Statistic,
    population: Population = "these",
    *,
    ratio: bool = False,
) -> Estimate:
    """Estimate a number over some cells.

    Of means it is the mean of the cells' own numbers. Of medians it is that of a typical round: the
    mean over the cells, round by round, and the median of that. `each` computes a cell's number
    round by round, for medians. `means` computes values whose mean is the number of the cell's
    means, and whose spread is that number's (delta method). With `ratio`, both are logarithms.
    """
    if statistic == "mean":
        return summed(evenly(found, means), population, ratio=ratio)
    if population == "pages":
        units = by_page(found, lambda cell: float(np.median(each(cell.times))))
    else:
        units = by_round(found, each)
    return Typical(tuple(units), ratio=ratio)


def evenly(found: Sequence[Cell], means: Measure, sign: int = 1) -> list[Sample]:
    """Return samples whose sum is the mean over the cells."""
    weight = sign / len(found)
    return [Sample(means(cell.times), weight, cell.page) for cell in found]


def summed(samples: Sequence[Sample], population: Population, *, ratio: bool = False) -> Mean:
    """Return the sum of samples that are independent of each other."""
    over = _over_pages if population == "pages" else _over_loads
    value, error, freedom = over(samples)
    return Mean(value, error, freedom, guard=SKEWED, ratio=ratio)


def _over_loads(samples: Sequence[Sample]) -> tuple[float, float, float]:
    """Return the sum, its standard error and its degrees of freedom, if the loads were made again.

    Source: Satterthwaite, "An approximate distribution of estimates of variance components",
    Biometrics Bulletin 2 (1946), 110-114; for two samples this is Welch's test.
    """
    value = sum(s.weight * float(s.values.mean()) for s in samples)
    counts = np.array([len(s.values) for s in samples])
    if counts.min() < 2 or counts.sum() < LEAST:
        return value, math.inf, 1.0
    parts = np.array([s.weight**2 * s.values.var(ddof=1) / len(s.values) for s in samples])
    total = float(parts.sum())
    if total == 0:
        return value, 0.0, math.inf
    return value, math.sqrt(total), float(total**2 / (parts**2 / (counts - 1)).sum())


def _over_pages(samples: Sequence[Sample]) -> tuple[float, float, float]:
    """Return the sum, its standard error and its degrees of freedom, if other pages like these were
    loaded.

    The pages of a sample differ by their own effects and by the noise of their loads. So Student's
    t of the pages' own numbers includes both variances (Searle, Casella and McCulloch, "Variance
    Components", 1992, section 3.6: the balanced one-way design).
    """
    pages: dict[str, float] = {}
    for s in samples:
        pages[s.page] = pages.get(s.page, 0.0) + s.weight * float(s.values.mean())
    own = np.array(list(pages.values()))
    count = len(own)
    if count < LEAST:
        return float(own.sum()), math.inf, 1.0
    return float(own.sum()), float(own.std(ddof=1)) * math.sqrt(count), count - 1.0
