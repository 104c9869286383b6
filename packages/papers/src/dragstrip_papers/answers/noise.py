"""Finds claims that loads without noise cannot answer: claims on how many tests find a difference.

Such a count depends on how far loads of one page differ among themselves. In virtual time only loss
makes loads of one page differ, so tests find differences that the noise of a paper's loads would
have hidden.
"""

import polars as pl

from dragstrip_papers.gains import AnovaCount
from dragstrip_papers.parts import parts_of
from dragstrip_papers.predicates import AnyPredicate

NO_NOISE = (
    "not comparable: how many tests find a difference depends on the noise of the loads, and in "
    "virtual time loads without loss have hardly any"
)


def noiseless(predicate: AnyPredicate | None, reached: pl.DataFrame) -> str:
    """Return why virtual time cannot answer a claim about the cells `reached`; empty if it can."""
    if predicate is None or not any(isinstance(p, AnovaCount) for p in parts_of(predicate)):
        return ""
    return NO_NOISE if len(reached.filter(pl.col("loss") == 0)) else ""
