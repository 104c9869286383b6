"""Writes notes that must accompany an answer."""

from collections.abc import Iterator, Mapping

from dragstrip.model.stack import Stack
from dragstrip.study.gaps import own_parity
from dragstrip_papers.answers.ended import unended
from dragstrip_papers.measured import Evidence
from dragstrip_papers.predicates import AnyPredicate, stacks_of
from dragstrip_papers.reached import reached


def caveats(
    predicate: AnyPredicate, evidence: Evidence, stacks: Mapping[str, Stack]
) -> Iterator[str]:
    """Yield the notes as sentences without a full stop. `stacks` are all stacks of the paper, by
    the names that claims use."""
    cells = reached(predicate, evidence.cells)
    named = stacks_of(predicate, {s: None for cell in cells for s in cell.stacks})
    if told := _ended(predicate, evidence):
        yield f"{told} loads ended, and only these are compared"
    unlimited = any("rate_mbps" not in cell.factors for cell in cells)
    large = any(cell.factors.get("page_bytes", 0) >= LARGE_BYTES for cell in cells)
    if unlimited and large:
        yield from own_parity([stacks[name] for name in named if name in stacks])


LARGE_BYTES = 500_000
"""Page size in bytes from which our servers' own speed affects times on links without a limit."""


def _ended(predicate: AnyPredicate, evidence: Evidence) -> str:
    found = unended(predicate, evidence).items()
    return " and ".join(f"{ended} of {made} {stack}" for stack, (ended, made) in found)
