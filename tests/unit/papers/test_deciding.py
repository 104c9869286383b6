"""Direction and size are decided apart, by the loads that ended."""

from math import inf

import msgspec
import polars as pl
import pytest

from dragstrip_papers.answers.ended import unended
from dragstrip_papers.deciding import FRAME_MS, PAGES_OWN, by_frames, decide, direction
from dragstrip_papers.measured import Evidence
from dragstrip_papers.predicates import AnyPredicate
from made_loads import cell, evidence, pages

PAIR = {"a": "b", "ref": "a"}
STEP = {"here": {"network": "here"}, "there": {"network": "there"}}


def predicate(kind: str, **parameters: object) -> AnyPredicate:
    return msgspec.convert({"kind": kind, **parameters}, AnyPredicate)


GAIN = predicate("gain", **PAIR, at_least=-0.13, at_most=-0.05, cells=8)
FASTER = predicate("gain", **PAIR, at_most=0.0, cells=8)


@pytest.mark.parametrize(
    ("asked", "way"),
    [
        (GAIN, FASTER),
        (predicate("gain", **PAIR, at_least=-0.1, at_most=0.05), None),  # both ways fit
        (predicate("ratio", a="a", b="b", at_least=1.1), predicate("ratio", a="a", b="b",
                                                                   at_least=1.0)),
        (predicate("difference", **PAIR, at_least=200, at_most=700),
         predicate("difference", **PAIR, at_least=0.0)),
        (predicate("faster_share", a="a", than=["b"], at_least=0.7, at_most=0.86),
         predicate("faster_share", a="a", than=["b"], at_least=0.5)),
        (predicate("faster_share", a="a", than=["b"], at_least=0.3), None),
        (predicate("sensitivity", stack="a", **STEP, at_least=1.5, at_most=2.5), None),
        (predicate("absolute", stack="a", at_least=1, at_most=2), None),
        (predicate("anova_count", pairs=[("a", "b")], networks=["n"], metrics=["plt_ms"],
                   cells=38, faster={"low": 26, "high": 38}, slower={"high": 2}),
         predicate("anova_count", pairs=[("a", "b")], networks=["n"], metrics=["plt_ms"],
                   cells=38, faster={"low": 20, "high": 38}, slower={"high": 2})),
    ],
)  # fmt: skip
def test_the_direction_of_a_size_is_its_side(asked, way):
    assert direction(asked) == way


@pytest.mark.parametrize(
    "asked",
    [
        FASTER,
        predicate("ratio", a="a", b="b", at_most=1.0),
        predicate("ordering", groups=[["a"], ["b"]]),
        predicate("sensitivity", stack="a", **STEP, at_least=0.9091, at_most=1.1),  # alike
        predicate("sensitivity", stack="a", **STEP, at_least=1.0),
        predicate("handshake_rtts", stack="a", at_least=1.8, at_most=2.2),
    ],
)
def test_what_names_no_size_is_its_own_direction(asked):
    assert direction(asked) == asked
    assert direction(predicate("all", parts=[msgspec.to_builtins(asked)])).parts == [asked]


def test_a_whole_has_the_directions_of_its_parts():
    both = predicate("all", parts=[msgspec.to_builtins(part) for part in (GAIN, FASTER)])
    assert direction(both).parts == [FASTER, FASTER]
    either = predicate("either", parts=[msgspec.to_builtins(GAIN), {
        "kind": "absolute", "stack": "a", "at_most": 2}])  # fmt: skip
    assert direction(either) is None, "the reading without a direction may be meant"


def gains(percent: float, *, standin: bool = False) -> Evidence:
    return pages(lambda i: {"a": 100.0, "b": 100.0 + percent}, standin=standin)


@pytest.mark.parametrize(
    ("percent", "own", "standins"),
    [
        (-9, ("reproduced", "reproduced", "reproduced"),
         ("reproduced", "reproduced", "not testable")),
        (-30, ("contradicted", "reproduced", "contradicted"),
         ("reproduced", "reproduced", "not testable")),
        (20, ("contradicted", "contradicted", "contradicted"),
         ("contradicted", "contradicted", "not testable")),
    ],
)  # fmt: skip
def test_a_stand_in_shows_a_direction_and_can_neither_confirm_nor_refute_a_size(
    percent, own, standins
):
    found = decide(GAIN, gains(percent))
    assert (found.verdict, found.direction, found.size) == own
    found = decide(GAIN, gains(percent, standin=True))
    assert (found.verdict, found.direction, found.size) == standins
    assert found.why == PAGES_OWN
    live = decide(GAIN, gains(percent), standin="a live network")
    assert (live.verdict, live.direction, live.size) == standins
    assert live.why == "a live network"


def test_a_size_alone_is_not_testable_on_a_stand_in_even_if_it_fits():
    asked = predicate("absolute", stack="a", at_least=50, at_most=150)
    assert decide(asked, gains(0)).size == "reproduced"
    found = decide(asked, gains(0, standin=True))
    assert (found.verdict, found.direction, found.size) == ("not testable", None, "not testable")
    assert found.ours


def ended(stack: str, every: int, blocks: int = 40) -> Evidence:
    """Loads in which b is quicker whenever it ends. One load in `every` does not end."""
    rows = cell({"a": 100.0, "b": 80.0}, blocks=blocks)
    number = pl.col("block").str.slice(-3).cast(int)
    lost = (pl.col("stack") == stack) & (number % every == 0)
    return evidence(
        rows.with_columns(censored=lost, plt_ms=pl.when(lost).then(600_000.0).otherwise("plt_ms"))
    )


QUICKER = predicate("ratio", a="a", b="b", at_most=1.0, statistic="mean")


def test_a_few_loads_that_did_not_end_turn_nothing():
    found = decide(QUICKER, ended("b", 40))
    assert found.verdict == "reproduced"
    assert found.ours.startswith("0.80")
    assert found.worst
    assert unended(QUICKER, ended("b", 40)) == {"b": (39, 40)}


def test_a_stack_cannot_win_by_the_loads_that_it_fails_to_end():
    found = decide(QUICKER, ended("b", 10))
    assert found.ours.startswith("0.80")
    assert found.verdict == "open"
    assert found.why == "reproduced by the loads that ended; 4 of 40 loads of b did not"


@pytest.mark.parametrize(("lost", "verdict"), [(5, "open"), (4, "reproduced")])
def test_a_cell_in_which_half_of_a_stacks_loads_did_not_end_leaves_a_claim_open(lost, verdict):
    number = pl.col("block").str.slice(-3).cast(int)
    few = cell({"a": 100.0, "b": 80.0}, page="few", blocks=10)
    few = few.with_columns(censored=(pl.col("stack") == "b") & (number < lost))
    many = pages(lambda _: {"a": 100.0, "b": 80.0}, blocks=40).loads
    found = decide(QUICKER, Evidence(pl.concat([many, few])))
    assert found.verdict == verdict
    assert ("5 of 10 loads of b on few over n did not" in found.why) == (verdict == "open")


def test_at_the_worst_rank_an_answer_that_turns_stays_open():
    """b is ahead by 2 %. One of its loads does not end, and another stack's load took 300 ms."""
    number = pl.col("block").str.slice(-3).cast(int)
    rows = cell({"a": 100.0, "b": 98.0, "c": 100.0}, blocks=40, spread=0.001)
    lost = (pl.col("stack") == "b") & (number == 0)
    late = (pl.col("stack") == "c") & (number == 1)
    told = evidence(rows.with_columns(
        censored=lost, plt_ms=pl.when(late).then(300.0).otherwise("plt_ms")
    ))  # fmt: skip
    found = decide(QUICKER, told)
    assert found.ours.startswith("0.9799 ")
    assert found.verdict == "open"
    assert found.why == "reproduced by the loads that ended; those that did not could turn it"
    typical = predicate("ratio", a="a", b="b", at_most=1.0)  # one round turns no median
    assert decide(typical, told).verdict == "reproduced"


def test_a_cell_where_no_load_ended_is_one_that_was_not_run():
    never = cell({"a": 100.0, "b": 80.0}, page="never").with_columns(censored=pl.lit(value=True))
    asked = predicate("faster_share", a="b", than=["a"], at_least=0.5, cells=2)
    told = Evidence(pl.concat([cell({"a": 100.0, "b": 80.0}), never]))
    found = decide(asked, told)
    assert (found.verdict, found.why) == ("open", "1 of its 2 cells are not run")
    nine = predicate("faster_share", a="b", than=["a"], at_least=0.5, cells=9)
    most = Evidence(pl.concat([gains(-20).loads, never]))
    assert decide(nine, most).verdict == "reproduced"


def test_no_claim_is_decided_by_loads_that_did_not_end():
    slower = predicate("ratio", a="a", b="b", at_least=1.0, statistic="mean")
    found = decide(slower, ended("b", 2))  # at ten minutes each, the mean would be 3,000 times
    assert found.verdict != "reproduced"
    never = decide(QUICKER, ended("b", 1))
    assert (never.verdict, never.ours) == ("open", "")


def test_where_computing_is_free_a_paint_shows_nothing_shorter_than_a_frame():
    def lead(ms: float, metric: str) -> str:
        told = evidence(cell({"a": 400.0, "b": 376.0 + ms}, spread=0.0001, rtt_ms=24.0))
        asked = predicate("one_rtt", **PAIR, metric=metric, at_most=0.1)
        assert decide(asked, told).verdict == ("contradicted" if ms > 2.4 else "reproduced")
        return decide(asked, told, frames=True).verdict

    assert lead(5.0, "visual_fvc_ms") == "open"
    assert lead(-5.0, "visual_fvc_ms") == "open"
    assert lead(5.0, "plt_ms") == "contradicted"
    assert lead(2.4 + 2 * FRAME_MS, "visual_fvc_ms") == "contradicted"
    whole = predicate("all", parts=[{"kind": "one_rtt", **PAIR, "metric": "visual_fvc_ms"}])
    assert by_frames(whole).parts[0].frame_ms == FRAME_MS
    assert by_frames(FASTER) == FASTER


def test_no_open_end_is_a_size():
    assert direction(predicate("gain", **PAIR, at_most=0.0)).at_least == -inf
