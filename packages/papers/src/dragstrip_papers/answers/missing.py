"""Checks whether a claim's answer could change if the results of invalid visits were known.

If invalid visits affect stacks unequally (`dragstrip.results.bias`), the loads that count are a
selection. The claim is then answered twice more, with each stack's invalid visits filled in: as
slow as the slowest load of its cell that counts, and as fast as the fastest. If this changes the
answer, the claim stays open. It also stays open if it rests on a cell in which half of a stack's
visits are invalid.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from msgspec import structs

from dragstrip.pages import corpus
from dragstrip_papers.answer import Answer
from dragstrip_papers.base import ask
from dragstrip_papers.measured import DoubtfulCell, Evidence, Loads, Measured, Values
from dragstrip_papers.predicates import AnyPredicate, stacks_of
from dragstrip_papers.reached import reached

Centre = Callable[[Values], Any]
DECIDED = ("reproduced", "equivalent", "contradicted")


def with_missing(answer: Answer, predicate: AnyPredicate, evidence: Evidence) -> Answer:
    """Return the answer, unless missing visits could change it."""
    if answer.verdict not in DECIDED or not evidence.doubts:
        return answer
    doubted = {
        cell.key: evidence.doubts[cell.key]
        for cell in reached(predicate, evidence.cells)
        if cell.key in evidence.doubts
    }
    named = stacks_of(predicate, {s: None for cell in evidence.cells for s in cell.stacks})
    for (_, page, network, _), cell in doubted.items():
        if lost := [stack for stack in cell.mostly if stack in named]:
            return _open(
                answer,
                f"most visits of {lost[0]} on {corpus.label(page)} over {network} are invalid",
            )
    for stack in named:
        if not any(cell.invalid.get(stack) for cell in doubted.values()):
            continue
        for worst in (np.max, np.min):
            cells = tuple(_filled(c, doubted.get(c.key), stack, worst) for c in evidence.cells)
            if ask(predicate, structs.replace(evidence, made=cells)).verdict != answer.verdict:
                why = f"{answer.verdict} by the visits that count; the invalid ones of {stack}"
                return _open(answer, f"{why} could turn it, and strike stacks unequally")
    return answer


def _open(answer: Answer, why: str) -> Answer:
    return structs.replace(answer, verdict="open", why=why)


def _filled(cell: Measured, lost: DoubtfulCell | None, stack: str, worst: Centre) -> Measured:
    """Return the cell with one more round for each invalid visit of the stack. In such a round that
    stack has its worst time, and the others have their usual times. These rounds come first,
    because some claims are about a cell's first rounds alone."""
    more = lost.invalid.get(stack, 0) if lost else 0
    if not more or stack not in cell.stacks:
        return cell
    return structs.replace(
        cell,
        stacks={
            name: _more(loads, more, worst if name == stack else np.median)
            for name, loads in cell.stacks.items()
        },
    )


def _more(loads: Loads, count: int, centre: Centre) -> Loads:
    def fill(values: Values) -> Values:
        known = values[~np.isnan(values)]
        told = centre(known) if len(known) else np.nan
        return np.concatenate([np.full(count, told), values])

    return Loads(
        rounds=np.concatenate([np.arange(-count, 0), loads.rounds]),
        values={metric: fill(values) for metric, values in loads.values.items()},
        censored=np.concatenate([np.zeros(count, dtype=bool), loads.censored]),
    )
