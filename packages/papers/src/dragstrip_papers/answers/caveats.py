"""Notes that must accompany an answer."""

from collections.abc import Iterable, Iterator, Mapping

from dragstrip.model.stack import Stack
from dragstrip.study.gaps import own_parity
from dragstrip_papers.measured import Evidence, Measured
from dragstrip_papers.predicates import AnyPredicate, stacks_of
from dragstrip_papers.reached import reached


def caveats(
    predicate: AnyPredicate, evidence: Evidence, stacks: Mapping[str, Stack]
) -> Iterator[str]:
    """Sentences without a full stop. `stacks` are all of the paper's, by the names claims use."""
    cells = reached(predicate, evidence.cells)
    named = stacks_of(predicate, {s: None for cell in cells for s in cell.stacks})
    if lost := _censored(cells, named):
        yield f"{lost} never ended: they stand at the client's limit and in means, too"
    unlimited = any("rate_mbps" not in cell.factors for cell in cells)
    large = any(cell.factors.get("page_bytes", 0) >= LARGE_BYTES for cell in cells)
    if unlimited and large:
        yield from own_parity([stacks[name] for name in named if name in stacks])


LARGE_BYTES = 500_000
"""Page size in bytes from which our servers' own speed affects times on links without a limit."""


def _censored(cells: Iterable[Measured], named: Iterable[str]) -> str:
    counts = {
        stack: sum(int(c.stacks[stack].censored.sum()) for c in cells if stack in c.stacks)
        for stack in named
    }
    told = [f"{count} of {stack}" for stack, count in counts.items() if count]
    return f"{' and '.join(told)} loads" if told else ""
