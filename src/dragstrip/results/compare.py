"""From visits to comparisons: every pair of stacks on every page and network, metric by metric."""

from collections.abc import Iterable, Sequence
from itertools import combinations

from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.results.blocks import METRICS, Metric, Trial, cells, observe, trials
from dragstrip.results.summary import Comparison
from dragstrip.stats.paired import ratio


def compare(study: Study, visits: Iterable[Visit]) -> list[Comparison]:
    """Paired comparisons over the blocks that count; pairs without such a block are left out.

    In each pair `a` comes before `b` in the study's order of stacks, so the pairs against the
    first stack, the baseline, come first. A load that failed or timed out takes the client's limit
    as its value, which understates how much slower that stack was; `censored` says how often.
    """
    stacks = [s.name for s in study.stacks]
    limit_ms = study.client.timeout_s * 1000
    by_cell = cells(trials(visits, stacks))
    found = (
        _compare(a, b, metric, by_cell.get((page.name, network.name, connection), []), limit_ms)
        for page in study.pages
        for network in study.networks
        for connection in study.connections
        for metric in METRICS
        for a, b in combinations(stacks, 2)
    )
    return [comparison for comparison in found if comparison is not None]


def _compare(
    a: str, b: str, metric: Metric, found: Sequence[Trial], limit_ms: float
) -> Comparison | None:
    observed = (
        (observe(t.visits[a], metric, limit_ms), observe(t.visits[b], metric, limit_ms))
        for t in found
        if t.counts
    )
    pairs = [(x, y) for x, y in observed if x is not None and y is not None]
    if not pairs:
        return None
    result = ratio([x.value_ms for x, _ in pairs], [y.value_ms for _, y in pairs])
    return Comparison(
        a=a,
        b=b,
        metric=metric,
        ratio=result.value,
        low=result.low,
        high=result.high,
        n=result.n,
        page=found[0].page,
        network=found[0].network,
        connection=found[0].connection,
        censored=sum(x.censored or y.censored for x, y in pairs),
    )
