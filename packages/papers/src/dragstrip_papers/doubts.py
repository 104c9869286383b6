"""Finds cells whose results are in doubt, because invalid visits select which loads count."""

from collections.abc import Iterable, Mapping

from dragstrip.model.study import Study, block_id
from dragstrip.model.visit import Visit
from dragstrip.results.bias import EVERYWHERE, bias
from dragstrip.results.bounds import MOSTLY
from dragstrip_papers.measured import DoubtfulCell, Key


def doubtful_cells(
    study: Study, visits: Iterable[Visit], parts: Mapping[str, str] | None = None
) -> dict[Key, DoubtfulCell]:
    """Return the cells in doubt. `parts` maps a stack to the name of the stack whose part it
    plays."""
    parts, seen = parts or {}, list(visits)
    shown = {one.cell for one in bias(seen, [s.name for s in study.visited]) if one.shown}
    counts: dict[Key, dict[str, list[int]]] = {}
    for visit in seen:
        key = study.name, visit.page, visit.network, visit.connection
        own = counts.setdefault(key, {}).setdefault(parts.get(visit.stack, visit.stack), [0, 0])
        own[0] += not visit.valid
        own[1] += 1
    found = {}
    for (name, page, network, connection), stacks in counts.items():
        cell = block_id(page, network, connection, 0).rpartition("|")[0]  # type: ignore[arg-type]
        mostly = tuple(s for s, (lost, made) in stacks.items() if lost / made >= MOSTLY)
        if mostly or shown & {EVERYWHERE, cell}:
            lost = {stack: lost for stack, (lost, _) in stacks.items()}
            found[name, page, network, connection] = DoubtfulCell(lost, mostly)
    return found
