"""Finds claims about absolute times of pages that no longer exist: no number of blocks answers
them."""

import polars as pl

from dragstrip.pages import corpus
from dragstrip_papers.claims import Claim
from dragstrip_papers.levels import Absolute
from dragstrip_papers.parts import parts_of
from dragstrip_papers.predicates import AnyPredicate

_NAMED = 3
"""Most pages that are named; if there are more, the others are counted."""


def absent(claim: Claim, reached: pl.DataFrame) -> str:
    """Return why no load of a claim's cells (see `dragstrip_papers.campaign.space`) can answer the
    claim.

    The reason is that the claim asks only for absolute times and its pages are stand-ins. Empty for
    other claims.
    """
    if claim.predicate is None or not _absolute(claim.predicate):
        return ""
    if not len(reached) or not reached["standin"].all():
        return ""
    pages = reached["page"].unique(maintain_order=True).to_list()
    told = ", ".join(map(corpus.label, pages)) if len(pages) <= _NAMED else f"{len(pages)} pages"
    return f"it asks for absolute times of {told}, of which there are only stand-ins"


def _absolute(predicate: AnyPredicate) -> bool:
    return all(isinstance(part, Absolute) for part in parts_of(predicate))
