"""Compares two stacks on a page and network, metric by metric, from their observations."""

from collections.abc import Iterable, Sequence
from itertools import combinations

import numpy as np
import polars as pl
from msgspec import UNSET, structs

from dragstrip.model.inequality import inequalities
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.results.bounds import bound
from dragstrip.results.compare.restarts import between
from dragstrip.results.compare.summary import Comparison, Spread
from dragstrip.results.observed import Observed, observed
from dragstrip.results.tables.build import frames
from dragstrip.stats.block_ratio import FAILED, ratio
from dragstrip.stats.spread import STATISTICS, Statistic, quantile_ratio


def compare(
    study: Study, visits: Iterable[Visit], metrics: Sequence[str] | None = None
) -> list[Comparison]:
    """Compare stacks as `compare_all` does, from visits in memory."""
    table = frames(visits, study)["visits"].with_row_index("row").lazy()
    return compare_all(study, table, metrics)


def compare_all(
    study: Study, table: pl.LazyFrame, metrics: Sequence[str] | None = None
) -> list[Comparison]:
    """Return paired comparisons of every two stacks over the blocks that count; see
    `compare_stacks`.

    In each pair `a` comes before `b` in the study's order of stacks, so the pairs against the first
    stack, the baseline, come first. Pairs that cannot be compared are left out.
    """
    pairs = [
        (a.name, b.name, tuple(one.words for one in inequalities(a, b)))
        for a, b in combinations(study.stacks, 2)
    ]
    return [
        structs.replace(comparison, also_differ=also)
        for cell in observed(study, table)
        for metric in metrics or cell.metrics
        for a, b, also in pairs
        if (comparison := compare_stacks(cell, a, b, metric)) is not None
    ]


def compare_stacks(cell: Observed, a: str, b: str, metric: str) -> Comparison | None:
    """Return the ratio b / a over the blocks that count.

    None without such a block, or if a value is not above zero (such as no lost packets), because
    then there is no ratio. A load that failed or timed out only counts as slower than every load
    that ended. `censored` is the number of such loads, and `none_ended` says whether no load of
    either stack ended.
    """
    of_a, of_b = cell.of(a, metric), cell.of(b, metric)
    both = ~(np.isnan(of_a.values) | np.isnan(of_b.values))
    values_a, values_b = (np.where(of.censored, FAILED, of.values)[both] for of in (of_a, of_b))
    if not len(values_a) or min(values_a.min(), values_b.min()) <= 0:
        return None
    result = ratio(values_a, values_b)
    return Comparison(
        a=a,
        b=b,
        metric=metric,
        ratio=result.value,
        low=result.low,
        high=result.high,
        n=result.n,
        page=cell.page,
        network=cell.network,
        connection=cell.connection,
        censored=int((of_a.censored | of_b.censored)[both].sum()),
        none_ended=bool((of_a.censored & of_b.censored)[both].all()),
        bound=bound(cell, a, b, metric),
        between=between(cell, a, b, metric) or UNSET,
    )


def spreads(study: Study, table: pl.LazyFrame) -> list[Spread]:
    """Return the spread of page load times of every two stacks, in the order of `compare_all`."""
    found = (
        spread(cell, a.name, b.name, statistic)
        for cell in observed(study, table)
        for statistic in STATISTICS
        for a, b in combinations(study.stacks, 2)
    )
    return [one for one in found if one is not None]


def spread(
    cell: Observed, a: str, b: str, statistic: Statistic, metric: str = "plt_ms"
) -> Spread | None:
    """Return the ratio b / a of a statistic of spread, over the blocks that count. Loads that
    failed or timed out count as the time limit. None without such a block, or if a stack's times do
    not spread."""
    of_a, of_b = cell.of(a, metric).values, cell.of(b, metric).values
    both = ~(np.isnan(of_a) | np.isnan(of_b))
    values_a, values_b = of_a[both].tolist(), of_b[both].tolist()
    result = quantile_ratio(values_a, values_b, statistic, paired=True)
    if result is None:
        return None
    low, high = result.interval() or (None, None)
    return Spread(
        a=a,
        b=b,
        metric=metric,
        statistic=statistic,
        ratio=result.value,
        low=low,
        high=high,
        n=result.n,
        page=cell.page,
        network=cell.network,
        connection=cell.connection,
    )
