"""Claims about absolute times of pages that no longer exist: no number of blocks answers them."""

import polars as pl

from dragstrip_papers.claims import Claim
from dragstrip_papers.levels import Absolute
from dragstrip_papers.parts import parts_of
from dragstrip_papers.predicates import AnyPredicate

_NAMED = 3
"""Most pages that are named; more are counted."""


def absent(claim: Claim, reached: pl.DataFrame) -> str:
    """Return why no load of the cells that a claim looks at (see `dragstrip_papers.campaign.space`)
    answers it.

    The claim asks only for absolute times, and there are only stand-ins of its pages. Empty for
    other claims.
    """
    if claim.predicate is None or not _absolute(claim.predicate):
        return ""
    if not len(reached) or not reached["standin"].all():
        return ""
    pages = reached["page"].unique(maintain_order=True).to_list()
    told = ", ".join(pages) if len(pages) <= _NAMED else f"{len(pages)} pages"
    return f"it asks for absolute times of {told}, of which there are only stand-ins of our size"


def _absolute(predicate: AnyPredicate) -> bool:
    return all(isinstance(part, Absolute) for part in parts_of(predicate))
