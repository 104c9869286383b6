"""Cells that end early: by group-sequential stopping, with what it decided and what it saved, or
because they take long."""

import math
import statistics
from collections.abc import Sequence

import polars as pl
from msgspec import Struct

from dragstrip.model.stack import ConnectionMode
from dragstrip.model.study import Slow, Study
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
    """Empty for a study without stopping."""
    slow: int = 0
    """Cells that ended because they take long."""

    @property
    def share(self) -> float:
        return 1 - self.made / self.fixed


def stop_rule(study: Study) -> StopRule | None:
    """A cell ends when it takes long, or when each stack is decided: faster or slower than the
    first, or equivalent."""
    rules: list[StopRule] = []
    if study.slow:
        rules.append(lambda blocks: _takes_long(study, blocks))
    if study.stopping and study.runs >= LEAST_RUNS:
        rivals = [s.name for s in study.stacks[1:]]
        rules.append(
            lambda blocks: all(
                _decide(study, _of_visits(study, b, blocks)).verdict != "go on" for b in rivals
            )
        )
    return (lambda blocks: any(rule(blocks) for rule in rules)) if rules else None


def _takes_long(study: Study, blocks: Sequence[Visits]) -> bool:
    """Judged by the first blocks only, so that more of them never change it."""
    assert study.slow
    first = [visits[s.name] for visits in blocks[: study.slow.runs] for s in study.stacks]
    seen = [observe(visit, "plt_ms", study.client.timeout_s * 1000) for visit in first]
    return _long(study.slow, [one.value_ms for one in seen if one])


def _took_long(study: Study, seen: Observed) -> bool:
    """The same of a cell of a table."""
    if not study.slow:
        return False
    order = _by_index(seen)[: study.slow.runs]
    found = [seen.of(s.name, "plt_ms").values[i] for s in study.stacks for i in order]
    return _long(study.slow, [float(ms) for ms in found if not math.isnan(ms)])


def _long(slow: Slow, loads_ms: Sequence[float]) -> bool:
    return bool(loads_ms) and statistics.median(loads_ms) >= slow.over_s * 1000


def saving(study: Study, table: pl.LazyFrame) -> Saving | None:
    """None for a study whose cells cannot end early. `table` as for
    `dragstrip.results.observed.observed`."""
    if len(study.looks()) < 2:
        return None
    first, *others = (s.name for s in study.stacks)
    made, slow, decided = 0, 0, []
    for seen in observed(study, table):
        made += seen.begun
        slow += seen.begun < study.runs and _took_long(study, seen)
        for b in others if seen.begun and study.stopping else ():
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
    fixed = len(study.cells()) * study.runs
    return Saving(made=made, fixed=fixed, decided=tuple(decided), slow=slow)


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
    order = _by_index(seen)

    def of(stack: str) -> list[Observation | None]:
        found = seen.of(stack, "plt_ms")
        return [
            None if math.isnan(ms) else Observation(ms, censored)
            for ms, censored in zip(found.values.tolist(), found.censored.tolist(), strict=True)
        ]

    of_a, of_b = of(first), of(b)
    return [(of_a[i], of_b[i]) for i in order]


def _by_index(seen: Observed) -> list[int]:
    """Places of the blocks that count, in the order of their index."""
    blocks = next(iter(seen.stacks.values()))["block"]
    return sorted(range(len(blocks)), key=lambda i: int(blocks[i].rpartition("|")[2]))


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
