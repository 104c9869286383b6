"""Splits a predicate into its parts."""

from collections.abc import Sequence

from dragstrip_papers.predicates import AnyPredicate, Simple


def parts_of(predicate: AnyPredicate) -> Sequence[Simple]:
    """Return the parts of a predicate; a predicate without parts is its only part."""
    found: Sequence[Simple] = getattr(predicate, "parts", [predicate])
    return found


def about(predicate: AnyPredicate) -> str:
    """Return what a claim is about: the populations of its parts, such as ``these``."""
    return " and ".join(dict.fromkeys(part.population for part in parts_of(predicate)))
