"""Decides which blocks count. Only this module turns a journal into paired observations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from dragstrip.model.stack import ConnectionMode
from dragstrip.model.study import CellKey
from dragstrip.model.visit import Visit
from dragstrip.visit.metrics import EARLY

BlockMetric = Literal["plt_ms", "ttfb_ms", "fcp_ms"]
BLOCK_METRICS: tuple[BlockMetric, ...] = ("plt_ms", "ttfb_ms", "fcp_ms")


class Observation(Struct, frozen=True):
    """A metric of one visit."""

    value_ms: float
    censored: bool = False
    """Whether the visit ended before the event happened. Then `value_ms` is the client's time
    limit."""


class Trial(Struct, frozen=True, kw_only=True):
    """The last attempt at a block: its visits of the stacks that are compared."""

    block: str
    page: str
    network: str
    connection: ConnectionMode = "first"
    attempt: int
    visits: Mapping[str, Visit]
    counts: bool
    """Whether the block counts: every compared stack was visited, and every visit, including those
    of other stacks, is valid. Only such blocks enter the statistics."""


def trials(visits: Iterable[Visit], stacks: Sequence[str]) -> list[Trial]:
    """Return the last attempt of every block, in the order the blocks began."""
    blocks: dict[str, list[Visit]] = {}
    for visit in visits:
        blocks.setdefault(visit.block, []).append(visit)
    return [_last_attempt(made, stacks) for made in blocks.values()]


def _last_attempt(made: list[Visit], stacks: Sequence[str]) -> Trial:
    attempt = max(v.attempt for v in made)
    last = {v.stack: v for v in made if v.attempt == attempt}
    visits = {name: visit for name, visit in last.items() if name in stacks}
    return Trial(
        block=made[0].block,
        page=made[0].page,
        network=made[0].network,
        connection=made[0].connection,
        attempt=attempt,
        visits=visits,
        counts=len(visits) == len(stacks) and all(v.valid for v in last.values()),
    )


def cells(found: Iterable[Trial]) -> dict[CellKey, list[Trial]]:
    """Group the trials by (page, network, connection mode)."""
    by_cell: dict[CellKey, list[Trial]] = {}
    for trial in found:
        by_cell.setdefault((trial.page, trial.network, trial.connection), []).append(trial)
    return by_cell


def observe(visit: Visit, metric: BlockMetric, limit_ms: float) -> Observation | None:
    """Return the metric of a valid visit; None if the browser reported none although the page
    loaded.

    If a load is incomplete, failed or timed out, its page load time is censored at the client's
    limit, whatever the browser reports. Censored too are other metrics that need the whole page,
    and events that the load did not reach.
    """
    value = getattr(visit, metric)
    if value is not None and (visit.outcome == "loaded" or metric in EARLY):
        return Observation(value)
    return None if visit.outcome == "loaded" else Observation(limit_ms, censored=True)
