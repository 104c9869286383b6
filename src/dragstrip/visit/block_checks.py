"""What only shows when the visits of a block are laid side by side."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from dragstrip.model.visit import Reason, Served, Visit
from dragstrip.visit.request_checks import some


def with_block_reasons(visits: Iterable[Visit]) -> list[Visit]:
    """The visits in their order, each with the reasons its block gives against it.

    Derived, never stored: the journal keeps a visit before its block is complete.
    """
    every = list(visits)
    blocks: dict[tuple[str, int], list[Visit]] = {}
    for visit in every:
        blocks.setdefault((visit.block, visit.attempt), []).append(visit)
    found = {block: uneven_misses(made) for block, made in blocks.items()}
    return [
        structs.replace(v, reasons=(*v.reasons, reason))
        if (reason := found[v.block, v.attempt].get(v.stack)) and reason not in v.reasons
        else v
        for v in every
    ]


def uneven_misses(visits: Sequence[Visit]) -> dict[str, Reason]:
    """Misses that only some stacks of a block met, as a reason for each such stack.

    Compared by host and path, since the query of an invented request is random; only what was
    asked before the load event, since what comes after has no effect on the load. What the page
    asked for in its rehearsal too is its own: a beacon that tells how the load went comes before or
    after the load event just as the load went.
    """
    met = {v.stack: Counter(s.address for s in _missed_before_load(v)) for v in visits}
    loaded = [v.stack for v in visits if v.outcome == "loaded"]
    if len(loaded) < 2:
        return {}
    common = met[loaded[0]]
    for stack in loaded[1:]:
        common = common & met[stack]
    return {
        stack: Reason(
            "replay-miss",
            "the recording lacked what other stacks of the block did not ask for: "
            + some(met[stack] - common),
        )
        for stack in loaded
        if met[stack] - common
    }


def _missed_before_load(visit: Visit) -> Iterator[Served]:
    for served in visit.served:
        since_start_ms = (served.t_us - visit.started_us) / 1000
        own = served.address in visit.known_misses
        if served.match == "miss" and not own and since_start_ms < (visit.plt_ms or 0):
            yield served
