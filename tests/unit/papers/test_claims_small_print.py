"""Errors that no claim may have: a tolerance that reverses a direction, a figure that counts
twice."""

from collections.abc import Iterator

import numpy as np
import polars as pl
import pytest

from dragstrip_papers.answer import Band
from dragstrip_papers.cells import fits
from dragstrip_papers.claims import KNOWN, Claim, published
from dragstrip_papers.compare import Ratio, RatioShift
from dragstrip_papers.evidence import METRICS, SCHEMA
from dragstrip_papers.gains import AnovaCount, Gain, MeanDelta
from dragstrip_papers.levels import Absolute, Difference, Sensitivity
from dragstrip_papers.measured import Evidence
from dragstrip_papers.predicates import AnyPredicate
from dragstrip_papers.rtts import OneRtt
from dragstrip_papers.scenarios import Rule7010
from dragstrip_papers.shares import Extreme

CLAIMS = {claim.id: claim for key in KNOWN for claim in published(key).claims}
ALIKE = {"cook2017-15", "biswal2016-23", "megyesi2016-05"} | {
    f"literature-{n}" for n in (34, 46, 47, 53, 70)
}
"""Claims that something stays about as it is, so that their bands lie around that."""


def parts(claim: Claim) -> Iterator[AnyPredicate]:
    if claim.predicate is not None:
        yield from getattr(claim.predicate, "parts", [claim.predicate])


def neutral(part: AnyPredicate) -> float | None:
    match part:
        case Ratio() | RatioShift() | Extreme():
            return 1.0
        case Sensitivity():
            return 1.0 if part.scale == "ratio" else 0.0
        case Gain() | MeanDelta() | Difference():
            return 0.0
        case OneRtt():  # less than a round trip counts as about none
            return 0.0 if abs(part.at_least + part.at_most) / 2 > 1 else None
    return None


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_a_tolerance_never_turns_a_direction(claim):
    for part in parts(claim):
        point = neutral(part)
        if point is None or claim.id in ALIKE:
            continue
        band = part.at_least, part.at_most
        assert not band[0] < point < band[1], (band, "quicker and slower both fit")


@pytest.mark.parametrize(
    ("name", "ratios", "direction", "verdict"),
    [
        ("biswal2016-16", (0.8, 0.22), "reproduced", "reproduced"),  # 1.25 to 4.5 times as fast
        ("biswal2016-16", (1.02, 0.22), "contradicted", "contradicted"),
        ("biswal2016-16", (0.8, 0.5), "reproduced", "contradicted"),  # all in the range, at most 2
        ("biswal2016-17", (1.2, 3.2), "reproduced", "reproduced"),
        ("biswal2016-17", (0.93, 3.2), "contradicted", "contradicted"),
        ("biswal2016-17", (1.2, 2.0), "reproduced", "contradicted"),
    ],
)
def test_a_range_asks_for_its_side_and_for_both_of_its_ends(name, ratios, direction, verdict):
    part, _ = parts(CLAIMS[name])
    draw = np.random.default_rng(1)
    factors = {"rate_mbps": 1.0, "rtt_ms": 10.0, "loss": 0.0, "object_bytes": 100.0}
    factors |= {"objects": 2.0 if name == "biswal2016-16" else 64.0, "hosts": 1.0}
    rows = [
        {"study": "s", "block": f"p|n|{block}", "page": f"{page}x", "network": "grid-1"}
        | {"connection": "first", "stack": stack, "censored": False, "standin": False}
        | factors
        | {"page_bytes": 1000.0}
        | dict.fromkeys(METRICS, 1000 * base * (1 + 0.001 * draw.standard_normal()))
        for page in range(part.cells)
        for block in range(15)  # with five, one end alone decides nothing
        for stack, base in (("h2-full", 1.0), ("QUIC", ratios[page % 2]))
    ]
    found = CLAIMS[name].answer(Evidence(pl.DataFrame(rows, schema=SCHEMA)))
    assert (found.direction, found.verdict) == (direction, verdict), found


def test_a_restatement_names_a_claim_on_the_same_cells_that_restates_none():
    restating = [claim for claim in CLAIMS.values() if claim.restates]
    assert {c.id[-2:] for c in restating} == {"18", "19", "23", "24", "25", "26"}
    for claim in restating:
        other = CLAIMS[claim.restates]
        assert not other.restates
        assert claim.predicate
        assert other.predicate
        assert claim.predicate.where == other.predicate.where
        assert claim.predicate.a == other.predicate.a


def test_what_follows_from_arithmetic_or_setup_confirms_nothing():
    derived = {claim.id for claim in CLAIMS.values() if claim.derived}
    setup = {"biswal2016-28", "cook2017-14", "megyesi2016-18", "ranjan2019-10"}
    sums = {"biswal2016-14", "biswal2016-15", "wolsing2019-63", "ranjan2019-11", "ranjan2019-12"}
    assert derived == setup | sums
    assert all(not CLAIMS[name].untestable for name in derived)


def test_a_maximum_has_no_lower_end():
    """ "QUIC is faster but only to a maximum of 1.4 x RTT" (section 4)."""
    (part,) = parts(CLAIMS["wolsing2019-61"])
    assert part.greatest == Band(high=2.047)
    assert part.positive.high == 0


def test_live_networks_of_which_means_are_known_test_no_size():
    live = {claim.id for claim in CLAIMS.values() if claim.live}
    assert live == {f"biswal2016-0{n}" for n in (1, 2, 3, 4)} | {"cook2017-12"}


def test_alike_is_within_a_tenth_for_every_claim_of_cook():
    margins = [p.alike for c in CLAIMS.values() for p in parts(c) if getattr(p, "alike", None)]
    assert margins == [0.1, 0.1]


@pytest.mark.parametrize(
    "page",
    ["wolsing2019-standin-36", "wolsing2019-wikipedia.org", "wikipedia", "www.wikipedia.org"],
)
def test_wikipedia_is_wikipedia_whatever_stands_for_it(page):
    asked = [p for c in CLAIMS.values() for p in parts(c) if "wikipedia" in str(p.where)]
    assert len(asked) > 10
    for part in asked:
        assert fits({"page": page}.get, {"page": part.where["page"]})


def test_counts_of_tests_name_the_papers_number_of_loads():
    counts = [p for c in CLAIMS.values() for p in parts(c) if isinstance(p, AnovaCount)]
    assert len(counts) == 7
    assert {count.loads for count in counts} == {published("wolsing2019").specs()[0].runs}


def test_megyesi_visits_again_as_its_text_says():
    """ "In this case the 0-RTT connection time of QUIC is also proven to work well" (section 4)."""
    (spec,) = published("megyesi2016").specs()
    assert spec.connections == ("repeat",)
    assert any("0-RTT" in choice for choice in published("megyesi2016").paper.choices)


def test_megyesis_long_round_trips_are_asked_of_both_rivals_at_once_on_every_page():
    (part,) = parts(CLAIMS["megyesi2016-14"])
    assert part.than == ["TCP-TLS1.2", "h1-TLS1.2"]
    assert part.cells == 24
    assert not part.unless


def test_megyesis_small_objects_are_asked_scenario_by_scenario():
    assert all(part.each for part in parts(CLAIMS["megyesi2016-15"]))


def test_cooks_figures_are_of_the_visits_they_show():
    assert {p.where["connection"] for p in parts(CLAIMS["cook2017-14"])} == {"repeat"}
    asked = [(p.stack, p.where["connection"]) for p in parts(CLAIMS["cook2017-15"])]
    assert set(asked) == {("QUIC", "first"), ("QUIC", "repeat"), ("QUIC-altsvc", "first")}


def test_absolute_times_and_winners_are_only_asked_where_they_are_available():
    kinds = [type(p) for c in CLAIMS.values() for p in parts(c)]
    assert kinds.count(Absolute) == 8
    assert kinds.count(Rule7010) == 2
