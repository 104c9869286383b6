"""Group-sequential stopping of a study's cells: the rule, what it decided, and what it saved."""

import math
from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from dragstrip.model.stack import ConnectionMode
from dragstrip.model.study import Study
from dragstrip.results.blocks import Observation, observe
from dragstrip.results.observed import Observed, observed
from dragstrip.schedule.schedule import StopRule, Visits
from dragstrip.stats.sequential import Decision, Plan, Verdict, decide

LEAST_RUNS = 2
"""One block decides nothing."""


class Decided(Struct, frozen=True, kw_only=True):
    """Page load time of stack `b` against the first stack on one cell."""

    page: str
    network: str
    connection: ConnectionMode
    a: str
    b: str
    verdict: Verdict
    n: int
    """Blocks at the look that decided, or at the last one so far."""
    low: float | None
    high: float | None
    """Repeated confidence interval of b / a: it holds at all looks together."""


class Saving(Struct, frozen=True, kw_only=True):
    """Blocks that count or were given up, against all cells with all runs."""

    made: int
    fixed: int
    decided: tuple[Decided, ...]

    @property
    def share(self) -> float:
        return 1 - self.made / self.fixed


def stop_rule(study: Study) -> StopRule | None:
    """A cell is decided when each stack is faster or slower than the first, or equivalent."""
    if not study.stopping or study.runs < LEAST_RUNS:
        return None
    rivals = [s.name for s in study.stacks[1:]]
    return lambda blocks: all(
        _decide(study, _of_visits(study, b, blocks)).verdict != "go on" for b in rivals
    )


def saving(study: Study, table: pl.LazyFrame) -> Saving | None:
    """None for a study without stopping. `table` as for `dragstrip.results.observed.observed`."""
    if not study.stopping or study.runs < LEAST_RUNS:
        return None
    first, *others = (s.name for s in study.stacks)
    made, decided = 0, []
    for seen in observed(study, table):
        made += seen.begun
        for b in others if seen.begun else ():
            decision = _decide(study, _of_cell(seen, first, b))
            decided.append(
                Decided(
                    page=seen.page,
                    network=seen.network,
                    connection=seen.connection,
                    a=first,
                    b=b,
                    verdict=decision.verdict,
                    n=decision.n,
                    low=decision.low,
                    high=decision.high,
                )
            )
    return Saving(made=made, fixed=len(study.cells()) * study.runs, decided=tuple(decided))


Pair = tuple[Observation | None, Observation | None]


def _of_visits(study: Study, b: str, blocks: Sequence[Visits]) -> list[Pair]:
    limit_ms = study.client.timeout_s * 1000
    first = study.stacks[0].name
    return [
        (observe(visits[first], "plt_ms", limit_ms), observe(visits[b], "plt_ms", limit_ms))
        for visits in blocks
    ]


def _of_cell(seen: Observed, first: str, b: str) -> list[Pair]:
    """In the order in which the blocks are looked at, which is that of their index."""
    order = sorted(
        range(seen.counted), key=lambda i: int(seen.stacks[first]["block"][i].rpartition("|")[2])
    )

    def of(stack: str) -> list[Observation | None]:
        found = seen.of(stack, "plt_ms")
        return [
            None if math.isnan(ms) else Observation(ms, censored)
            for ms, censored in zip(found.values.tolist(), found.censored.tolist(), strict=True)
        ]

    of_a, of_b = of(first), of(b)
    return [(of_a[i], of_b[i]) for i in order]


def _decide(study: Study, seen: Sequence[Pair]) -> Decision:
    """A load that never ended stands at the limit: that much slower, at least. Such loads never
    show that two stacks are the same."""
    assert study.stopping
    pairs = [(x, y) for x, y in seen if x and y]
    censored = any(x.censored or y.censored for x, y in pairs)
    plan = Plan(
        looks=study.stopping.until(study.runs),
        alpha=study.stopping.alpha / (len(study.stacks) - 1),
        margin=None if censored else study.stopping.margin,
    )
    return decide([math.log(y.value_ms / x.value_ms) for x, y in pairs], plan)
