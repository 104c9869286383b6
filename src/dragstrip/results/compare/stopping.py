"""Ends cells early, by group-sequential stopping or because their loads take long, and reports the
decisions and the blocks saved."""

import math
import statistics
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl
from msgspec import Struct

from dragstrip.model.bridge import BuiltBridge
from dragstrip.model.stack import ConnectionMode
from dragstrip.model.study import Study, index_of
from dragstrip.model.visit import BlockVisits, StopRule
from dragstrip.results.blocks import Observation, observe
from dragstrip.results.observed import Observed, observed
from dragstrip.stats.attribution import Measured, block_values
from dragstrip.stats.block_ratio import FAILED, log_ratios
from dragstrip.stats.log_ratio import of_mean
from dragstrip.stats.sequential import Decision, Plan, Verdict, decide

LEAST_RUNS = 2
"""Fewest runs of a slow cell, because one block decides nothing."""


class Decided(Struct, frozen=True, kw_only=True):
    """The decision on the page load time of stack `b` against the first stack's, on one cell."""

    page: str
    network: str
    connection: ConnectionMode
    a: str
    b: str
    verdict: Verdict
    n: int
    """Number of blocks at the look that decided, or at the last look so far."""
    low: float | None
    high: float | None
    """Upper end of the repeated confidence interval of b / a, which holds at all looks together.
    None if the interval needs more blocks than were made."""


class Saving(Struct, frozen=True, kw_only=True):
    """Number of blocks that count or were given up, compared with the number if every cell had all
    its runs."""

    made: int
    fixed: int
    decided: tuple[Decided, ...]
    """Decisions by cell and stack; empty for a study without stopping."""
    slow: int = 0
    """Number of cells that ended because their loads take long."""

    @property
    def share(self) -> float:
        return 1 - self.made / self.fixed


BlockTimes = Mapping[str, Sequence[Observation | None]]
"""Page load times of a cell's blocks by stack, in the order of their index; None if unknown."""


def stop_rule(study: Study) -> StopRule | None:
    """Return a rule that ends a cell when its loads take long, or when each stack is decided:
    faster, slower or equivalent to the first. None for a study whose cells cannot end early."""
    if study.bridge and _sequential(study):
        return _settled(study, BuiltBridge(study.bridge))
    if not (study.slow or _sequential(study)):
        return None

    def ends(blocks: Sequence[BlockVisits]) -> bool:
        seen = _of_visits(study, blocks)
        return _takes_long(study, seen) or _decided(study, seen)

    return ends


def _settled(study: Study, bridge: BuiltBridge) -> StopRule:
    """Return a rule that ends a cell of a bridge when every factor's share is decided on this
    network alone."""
    assert study.stopping
    nodes = tuple(bridge.stacks)
    names = [stack.name for stack in bridge.stacks.values()]
    plan = Plan(
        looks=study.stopping.until(study.runs),
        alpha=study.stopping.alpha / len(bridge.players),
        margin=study.stopping.margin,
        spending=study.stopping.spending,
    )

    def ends(blocks: Sequence[BlockVisits]) -> bool:
        limit_ms = study.client.timeout_s * 1000
        rows = [[observe(visits[n], "plt_ms", limit_ms) for n in names] for visits in blocks]
        known = [[x.value_ms for x in row if x] for row in rows if all(row)]
        if not known:
            return False
        measured = Measured(nodes, np.log(np.array(known)))
        return all(
            _share_decided(block_values(f.name, bridge.orders.orders, measured), plan)
            for f in bridge.players
        )

    return ends


def _share_decided(values: Sequence[float], plan: Plan) -> bool:
    """Return whether the interval printed by `dragstrip.results.compare.attribution` decides."""
    return decide(values, plan, of_mean).verdict != "go on"


def _sequential(study: Study) -> bool:
    return study.stopping is not None and study.runs >= LEAST_RUNS


def _takes_long(study: Study, seen: BlockTimes) -> bool:
    """Return whether the cell's loads take long. Only the cell's first blocks decide, so that later
    blocks never change the answer."""
    if not study.slow:
        return False
    loads_ms = [x.value_ms for loads in seen.values() for x in loads[: study.slow.runs] if x]
    return bool(loads_ms) and statistics.median(loads_ms) >= study.slow.over_s * 1000


def _decided(study: Study, seen: BlockTimes) -> bool:
    rivals = [s.name for s in study.stacks[1:]]
    return _sequential(study) and all(_decide(study, seen, b).verdict != "go on" for b in rivals)


def saving(study: Study, table: pl.LazyFrame) -> Saving | None:
    """Return the blocks saved by stopping early; None for a study whose cells cannot end early.
    `table` is the table that `dragstrip.results.observed.observed` takes."""
    if not (study.slow or _sequential(study)):
        return None
    first, *others = (s.name for s in study.stacks)
    made, slow, decided = 0, 0, []
    for cell in observed(study, table):
        if not cell.begun:
            continue
        seen = _of_cell(cell)
        made += cell.begun
        slow += cell.begun < study.runs and _takes_long(study, seen)
        for b in others if _sequential(study) and not study.bridge else ():
            decision = _decide(study, seen, b)
            decided.append(
                Decided(
                    page=cell.page,
                    network=cell.network,
                    connection=cell.connection,
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


def _of_visits(study: Study, blocks: Sequence[BlockVisits]) -> BlockTimes:
    limit_ms = study.client.timeout_s * 1000
    return {
        s.name: [observe(visits[s.name], "plt_ms", limit_ms) for visits in blocks]
        for s in study.stacks
    }


def _of_cell(cell: Observed) -> BlockTimes:
    """Return the page load times of the cell's blocks that count."""
    return {stack: _by_index(cell, stack) for stack in cell.stacks}


def _by_index(cell: Observed, stack: str) -> list[Observation | None]:
    found, blocks = cell.of(stack, "plt_ms"), cell.stacks[stack]["block"].to_list()
    rows = zip(blocks, found.values.tolist(), found.censored.tolist(), strict=True)
    ordered = sorted(rows, key=lambda row: index_of(row[0]))
    return [None if math.isnan(ms) else Observation(ms, censored) for _, ms, censored in ordered]


def _decide(study: Study, seen: BlockTimes, b: str) -> Decision:
    """Decide on stack `b`. A load that never ended counts as slower than every load that did. Such
    loads never show that two stacks are equivalent."""
    assert study.stopping
    both = zip(seen[study.stacks[0].name], seen[b], strict=True)
    pairs = [(x, y) for x, y in both if x and y]
    censored = any(x.censored or y.censored for x, y in pairs)
    if not pairs:
        return Decision("go on", 0)
    plan = Plan(
        looks=study.stopping.until(study.runs),
        alpha=study.stopping.alpha / (len(study.stacks) - 1),
        margin=None if censored else study.stopping.margin,
        spending=study.stopping.spending,
    )
    first, second = (
        [FAILED if one.censored else one.value_ms for one in side]
        for side in zip(*pairs, strict=True)
    )
    return decide(log_ratios(first, second).tolist(), plan)
