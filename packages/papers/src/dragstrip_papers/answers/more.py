"""Estimates how many more loads would answer an open claim.

The claim's loads are repeated several times: as more blocks of the same pages, or as more pages
like them. This is only a projection, because real loads would also change the estimate.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from msgspec import Struct, structs

from dragstrip_papers.answer import Verdict
from dragstrip_papers.answers.ended import of_ended
from dragstrip_papers.answers.missing import DECIDED
from dragstrip_papers.gains import AnovaCount
from dragstrip_papers.measured import Evidence, Loads, Measured
from dragstrip_papers.parts import parts_of
from dragstrip_papers.predicates import AnyPredicate
from dragstrip_papers.reached import reached

TIMES = (2, 3, 4, 6, 8, 12, 16, 24, 32)
"""Multiples of the loads that are tried, in this order."""


class More(Struct, frozen=True, kw_only=True):
    """How many more loads would decide a claim, if they were like the loads that were made."""

    of: Literal["blocks", "pages"] | None
    """What is needed more of; None if no multiple in `TIMES` would decide."""
    have: int = 0
    """Number of blocks of the cell with the fewest, or number of pages, so far."""
    need: int = 0
    answer: Verdict = "open"
    """The claim's answer once it has that many."""

    def words(self) -> str:
        """Say it in words: ``about 152 pages like its 38 (then contradicted)``."""
        if self.of is None:
            return f"other pages or cells: {TIMES[-1]} times as many loads like these leave it open"
        return f"about {self.need} {self.of} like its {self.have} (then {self.answer})"


def more(predicate: AnyPredicate, evidence: Evidence) -> More | None:
    """Return what would decide an open claim. None if some of the claim's cells were not run, if
    more loads cannot decide it, or if it counts significant tests, because the paper fixes their
    number of loads."""
    own = reached(predicate, evidence.cells)
    if any(len(reached(part, own)) < part.cells for part in parts_of(predicate)):
        return None
    if any(isinstance(part, AnovaCount) for part in parts_of(predicate)):
        return None
    now = of_ended(predicate, structs.replace(evidence, made=tuple(own)))
    if not now.ours or now.verdict in DECIDED:
        return None
    fewest = min(len(loads.rounds) for cell in own for loads in cell.stacks.values())
    ways: list[tuple[Literal["blocks", "pages"], int, _Taken]] = [("blocks", fewest, _longer)]
    if _of_corpus(predicate):
        ways.append(("pages", len({cell.page for cell in own}), _wider))
    for times in TIMES:
        for of, have, taken in ways:
            made = tuple(taken(own, times))
            found = of_ended(predicate, structs.replace(evidence, made=made)).verdict
            if found in DECIDED:
                return More(of=of, have=have, need=times * have, answer=found)
    return More(of=None)


_Taken = Callable[[Sequence[Measured], int], Iterable[Measured]]


def _of_corpus(predicate: AnyPredicate) -> bool:
    """Return whether any part of the claim is about other pages as well."""
    return any(part.population == "pages" for part in parts_of(predicate))


def _longer(cells: Sequence[Measured], times: int) -> Iterable[Measured]:
    """Yield each cell with its rounds repeated `times` times."""
    span = 1 + max(int(loads.rounds.max()) for cell in cells for loads in cell.stacks.values())
    for cell in cells:
        stacks = {name: _repeated(loads, times, span) for name, loads in cell.stacks.items()}
        yield structs.replace(cell, stacks=stacks)


def _repeated(loads: Loads, times: int, span: int) -> Loads:
    return Loads(
        rounds=np.concatenate([loads.rounds + span * i for i in range(times)]),
        values={metric: np.tile(values, times) for metric, values in loads.values.items()},
        censored=np.tile(loads.censored, times),
    )


def _wider(cells: Sequence[Measured], times: int) -> Iterable[Measured]:
    """Yield each cell, and `times` - 1 copies of it on pages of other names."""
    for cell in cells:
        yield cell
        yield from (structs.replace(cell, page=f"{cell.page}~{i}") for i in range(1, times))
