"""Finds the cells that a predicate is about, among those of a study or the measured ones."""

from collections.abc import Callable, Iterable

from dragstrip_papers.cells import Where, fits
from dragstrip_papers.levels import AuditCount
from dragstrip_papers.measured import Measured
from dragstrip_papers.predicates import AnyPredicate

_SIDES = ("here", "there", "more", "less")

Field = Callable[[str], object]
"""Returns a cell's field by name."""


def looks_at(predicate: AnyPredicate, field: Field) -> bool:
    """Return whether a predicate is about a cell with these fields, whatever its stacks."""
    if parts := getattr(predicate, "parts", None):
        return any(looks_at(part, field) for part in parts)
    if isinstance(predicate, AuditCount):
        return False
    if any(fits(field, other) for other in getattr(predicate, "others", ())):
        return True
    if not fits(field, predicate.where):
        return False
    if predicate.unless and fits(field, predicate.unless):
        return False
    sides = _sides(predicate)
    return not sides or any(fits(field, side) for side in sides)


def reached(predicate: AnyPredicate, cells: Iterable[Measured]) -> list[Measured]:
    return [cell for cell in cells if looks_at(predicate, cell.field)]


def _sides(predicate: AnyPredicate) -> list[Where]:
    found = [side for name in _SIDES if isinstance(side := getattr(predicate, name, None), dict)]
    found += [term.where for term in getattr(predicate, "terms", ())]
    if networks := getattr(predicate, "networks", None):
        found.append({"network": networks})
    return found
