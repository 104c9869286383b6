"""What an open claim needs: more blocks, more pages, or others than these."""

import msgspec
import polars as pl
import pytest

from dragstrip_papers.answers.more import more
from dragstrip_papers.evidence import nothing
from dragstrip_papers.measured import Evidence
from dragstrip_papers.predicates import AnyPredicate
from made_loads import cell, evidence, pages

FASTER = {"kind": "ratio", "a": "a", "b": "b", "at_most": 1.0}
GAIN = {"kind": "gain", "a": "b", "ref": "a", "at_least": -0.15, "at_most": -0.05, "cells": 8}
NEAR = {"a": 100.0, "b": 97.0}


def needed(loads: Evidence, predicate: dict, **changed: object):
    return more(msgspec.convert(predicate | changed, AnyPredicate), loads)


def but_once(times: dict, other: float) -> pl.DataFrame:
    """Six blocks of a cell. In the first block, b takes another time."""
    first = pl.col("block").str.ends_with("000") & (pl.col("stack") == "b")
    return cell(times, blocks=6, spread=0).with_columns(
        pl.when(first).then(other).otherwise("plt_ms").alias("plt_ms")
    )


@pytest.mark.parametrize(
    ("loads", "answer"),
    [
        (but_once({"a": 100.0, "b": 97.0}, 110.0), "reproduced"),
        (but_once({"a": 97.0, "b": 100.0}, 90.0), "contradicted"),
    ],
)
def test_a_claim_about_its_own_cells_needs_more_blocks(loads, answer):
    found = needed(evidence(loads), FASTER)
    assert (found.of, found.have, found.answer) == ("blocks", 6, answer)
    assert found.need in (12, 18)
    assert found.words() == f"about {found.need} blocks like its 6 (then {answer})"


def test_a_claim_about_pages_like_these_needs_more_of_them_and_not_more_blocks():
    loads = pages(lambda i: {"a": 100.0, "b": 80.0 + 3 * i}, spread=0.001)
    found = needed(loads, GAIN | {"population": "pages"})
    assert (found.of, found.have, found.answer) == ("pages", 8, "reproduced")


def test_where_the_estimate_lies_on_the_edge_no_number_of_loads_decides():
    found = needed(
        pages(lambda i: {"a": 100.0, "b": 75.0}, spread=0),
        GAIN | {"at_least": -1, "at_most": -0.25},
    )
    assert found.of is None
    assert found.words() == "other pages or cells: 32 times as many loads like these leave it open"


@pytest.mark.parametrize(
    ("loads", "predicate"),
    [
        (evidence(cell({"a": 100.0, "b": 50.0})), FASTER),  # decided
        (Evidence(nothing()), FASTER),  # not run
        (evidence(but_once(NEAR, 110.0)), FASTER | {"cells": 2}),  # half of the claim was not run
        (evidence(cell({"a": 100.0, "c": 97.0}, blocks=6)), FASTER),  # stacks were not run
        (  # how many tests reject depends on the paper's number of loads
            pages(lambda _: NEAR, blocks=3),
            {
                "kind": "anova_count",
                "pairs": [["b", "a"]],
                "networks": ["n"],
                "metrics": ["plt_ms"],
            },
        ),
    ],
)
def test_nothing_is_projected_without_an_own_open_answer(loads, predicate):
    assert needed(loads, predicate) is None


def test_loads_that_are_not_the_claims_change_nothing():
    own = but_once(NEAR, 110.0)
    other = cell({"a": 100.0, "b": 500.0}, network="other", blocks=6)
    here = FASTER | {"where": {"network": "n"}}
    alone = needed(evidence(own), here)
    assert alone is not None
    assert needed(evidence(own, other), here) == alone
