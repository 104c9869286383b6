"""Takes account of loads that did not end.

The papers kept only the loads that ended, so ours are compared in the same way. That leaves out a
stack's own failures and can flatter the stack. If more than `MOST` of a stack's loads did not end,
or half of them in one cell, the claim stays open. Otherwise the claim is answered again with every
load that did not end as slow as the slowest load of its cell that did: the worst rank among them.
If this changes the answer, the claim stays open. Of a mean that is no bound, because such a load
might have ended later still.

Source: Lachin, "Worst-rank score analysis with informatively missing observations in clinical
trials", Controlled Clinical Trials 20 (1999), 408-422.
"""

from collections.abc import Iterable, Mapping

import numpy as np
from msgspec import structs

from dragstrip.pages import corpus
from dragstrip_papers.answer import Answer
from dragstrip_papers.answers.missing import DECIDED, with_missing
from dragstrip_papers.base import ask
from dragstrip_papers.measured import Evidence, Loads, Measured, Values
from dragstrip_papers.predicates import AnyPredicate, stacks_of
from dragstrip_papers.reached import reached

MOST = 0.05
"""Largest share of a stack's loads that may not have ended; the value is our choice. Only cells in
which a load ended count. A cell in which none ended counts as not run."""


def of_ended(predicate: AnyPredicate, evidence: Evidence) -> Answer:
    """Return the answer of the loads that ended, unless the other loads could change it."""
    if not unended(predicate, evidence):
        return with_missing(ask(predicate, evidence), predicate, evidence)
    kept = structs.replace(evidence, made=tuple(map(_ended, evidence.cells)))
    answer = with_missing(ask(predicate, kept), predicate, kept)
    ranked = structs.replace(evidence, made=tuple(map(_worst, evidence.cells)))
    bound = ask(predicate, ranked)
    answer = structs.replace(answer, worst=bound.ours)
    if answer.verdict not in DECIDED:
        return answer
    why = f"{answer.verdict} by the loads that ended; "
    tried = structs.replace(evidence, made=tuple(filter(_tried, evidence.cells)))
    for stack, (count, made) in unended(predicate, tried).items():
        if count < (1 - MOST) * made:
            why += f"{made - count} of {made} loads of {stack} did not"
            return structs.replace(answer, verdict="open", why=why)
    if lost := _mostly(predicate, tried):
        return structs.replace(answer, verdict="open", why=why + lost)
    if bound.verdict != answer.verdict:
        why += "those that did not could turn it"
        return structs.replace(answer, verdict="open", why=why)
    return answer


def _tried(cell: Measured) -> bool:
    """Return whether any load of the cell ended."""
    return any(not loads.censored.all() for loads in cell.stacks.values())


def unended(predicate: AnyPredicate, evidence: Evidence) -> Mapping[str, tuple[int, int]]:
    """Return, by stack, the number of loads that ended and of all loads. Only stacks that the
    predicate names and that have loads which did not end are listed."""
    cells = reached(predicate, evidence.cells)
    named = stacks_of(predicate, {s: None for cell in cells for s in cell.stacks})
    found = {}
    for stack in named:
        lost = [cell.stacks[stack].censored for cell in cells if stack in cell.stacks]
        count = sum(int(one.sum()) for one in lost)
        if count:
            made = sum(map(len, lost))
            found[stack] = made - count, made
    return found


def _mostly(predicate: AnyPredicate, evidence: Evidence) -> str:
    """Name a cell in which half of a stack's loads or more did not end; empty if there is none."""
    for cell in evidence.cells:
        alone = structs.replace(evidence, made=(cell,))
        for stack, (count, made) in unended(predicate, alone).items():
            if 2 * count <= made:
                where = f"{corpus.label(cell.page)} over {cell.network}"
                return f"{made - count} of {made} loads of {stack} on {where} did not"
    return ""


def _ended(cell: Measured) -> Measured:
    if not _any(cell.stacks.values()):
        return cell
    return structs.replace(
        cell, stacks={stack: _kept(loads) for stack, loads in cell.stacks.items()}
    )


def _kept(loads: Loads) -> Loads:
    whole = ~loads.censored
    return Loads(
        rounds=loads.rounds[whole],
        values={metric: values[whole] for metric, values in loads.values.items()},
        censored=loads.censored[whole],
    )


def _worst(cell: Measured) -> Measured:
    """Return the cell with every load that did not end as slow as the slowest load that did. If no
    load ended, the cell has no loads."""
    if not _any(cell.stacks.values()):
        return cell
    slowest = {
        metric: _slowest(metric, cell.stacks.values())
        for loads in cell.stacks.values()
        for metric in loads.values
    }
    if all(np.isnan(value) for value in slowest.values()):
        return _ended(cell)
    return structs.replace(
        cell,
        stacks={
            stack: Loads(
                rounds=loads.rounds,
                values={
                    metric: np.where(loads.censored, slowest[metric], values)
                    for metric, values in loads.values.items()
                },
                censored=np.zeros_like(loads.censored),
            )
            for stack, loads in cell.stacks.items()
        },
    )


def _slowest(metric: str, stacks: Iterable[Loads]) -> float:
    known: list[Values] = [loads.values[metric][~loads.censored] for loads in stacks]
    values = np.concatenate(known)
    values = values[~np.isnan(values)]
    return float(values.max()) if len(values) else np.nan


def _any(stacks: Iterable[Loads]) -> bool:
    return any(bool(loads.censored.any()) for loads in stacks)
