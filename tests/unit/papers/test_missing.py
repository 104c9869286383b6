"""Answers that the results of invalid visits could change."""

import polars as pl
import pytest
from msgspec import structs

from dragstrip_papers.answers.missing import with_missing
from dragstrip_papers.base import ask
from dragstrip_papers.gains import Allowed, AnovaCount
from dragstrip_papers.measured import DoubtfulCell, Evidence
from dragstrip_papers.shares import FasterShare
from made_loads import PAGES, pages

ALL_FASTER = AnovaCount(
    cells=len(PAGES),
    pairs=[("b", "a")],
    networks=["n"],
    metrics=["plt_ms"],
    faster=Allowed(low=len(PAGES)),
)
IN_SETS = FasterShare(cells=len(PAGES), a="b", than=["a"], take=5, loads=5, at_least=0.8)


def known(blocks: int, invalid: int) -> Evidence:
    """Return loads in which b takes a tenth less than a, and this number of invalid visits of b."""
    found = pages(lambda _: {"a": 1000.0, "b": 900.0}, blocks=blocks, spread=0.02)
    slow = pl.when(pl.col("stack") == "b", pl.col("block").str.ends_with("000")).then(1300.0)
    loads = found.loads.with_columns(plt_ms=slow.otherwise(pl.col("plt_ms")))
    cells = Evidence(loads).cells
    doubts = {c.key: DoubtfulCell({"b": invalid}, ()) for c in cells} if invalid else {}
    return Evidence(loads, doubts=doubts)


@pytest.mark.parametrize(("claim", "blocks"), [(ALL_FASTER, 31), (IN_SETS, 10)])
def test_invalid_visits_reach_claims_about_a_cells_first_loads(claim, blocks):
    evidence = known(blocks, 10)
    by_the_others = ask(claim, evidence)
    assert by_the_others.verdict == "reproduced"
    found = with_missing(by_the_others, claim, evidence)
    assert found.verdict == "open"
    assert "the invalid ones of b could turn it" in found.why


def test_no_invalid_visits_leave_the_answer():
    evidence = known(31, 0)
    answer = ask(ALL_FASTER, evidence)
    assert with_missing(answer, ALL_FASTER, structs.replace(evidence, doubts={})) == answer
