"""What is left of an answer whose loads are not kept."""

import pytest
from msgspec import structs

from dragstrip_papers.claims import published
from dragstrip_papers.overall.given import Given, Told
from dragstrip_papers.overall.reread import reread

CLAIMS = {c.id: c for key in ("wolsing2019", "megyesi2016") for c in published(key).claims}


def printed(one: Told, *, rules: str, way: str = "browser") -> Given:
    """Return the page that prints this answer."""
    return Given(
        paper=one.id.split("-")[0],
        page="p",
        way=way,
        clock="real",
        made="2026-11-22",
        rules=rules,
        frozen=True,
        source="capsule",
        command="",
        answers=(one,),
    )


def told(
    claim: str, answer: str, ours: str, *, way: str = "browser", rules: str = "1.1.17", **more: str
) -> tuple[str, str | None, str | None]:
    one = Told(id=claim, answer=answer, ours=ours, loads=31, run=38, stacks="surrogate", **more)
    found = reread(CLAIMS[claim], printed(one, way=way, rules=rules), one)
    return found.answer, found.direction, found.size


GAIN = "wolsing2019-05"  # published -0.09, give or take 0.04


@pytest.mark.parametrize(
    ("answer", "ours", "expected"),
    [
        ("reproduced", "-0.09 [-0.1, -0.08]", ("reproduced", "reproduced", "reproduced")),
        ("contradicted", "-0.3 [-0.4, -0.2]", ("contradicted", "reproduced", "contradicted")),
        ("contradicted", "0.3 [0.2, 0.4]", ("contradicted", "contradicted", "contradicted")),
        ("open", "-0.1 [-0.2, -0.05]", ("open", "reproduced", "open")),
        ("open", "-0.1 [-0.2, -0.05], as the paper computes it 0.2", ("open", "open", "open")),
        ("reproduced", "as good as published", ("reproduced", "reproduced", "reproduced")),
    ],
)
def test_a_printed_interval_is_held_against_direction_and_size(answer, ours, expected):
    assert told(GAIN, answer, ours, pages="recorded") == expected


def test_a_stand_in_leaves_the_direction():
    assert told(GAIN, "contradicted", "-0.3 [-0.4, -0.2]", pages="stand-in") == (
        "reproduced",
        "reproduced",
        "not testable",
    )


def test_an_interval_by_unknown_rules_decides_nothing_anew():
    ours = "-0.3 [-0.4, -0.2]"
    assert told(GAIN, "open", ours, pages="recorded", rules="") == ("open", "open", "open")
    assert told(GAIN, "contradicted", ours, pages="recorded", rules="")[0] == "contradicted"


def test_print_of_a_virtual_clock_does_not_answer_what_the_clock_may_be_off_by():
    row = "wolsing2019-43"  # half a round trip over DSL is 12 ms
    ours = "-0.125 RTT [-0.1333, -0.1167]"
    assert told(row, "reproduced", ours, pages="recorded")[0] == "reproduced"
    assert told(row, "reproduced", ours, pages="recorded", way="virtual")[0] == "open"
    assert told(row, "reproduced", ours, pages="stand-in", way="virtual")[0] == "not testable"


def test_some_cells_do_not_decide_for_all():
    few = CLAIMS[GAIN]
    one = Told(id=GAIN, answer="open", ours="-0.09 [-0.1, -0.08]", loads=31, run=8)
    assert reread(few, printed(one, rules="1"), one).answer == "open"


@pytest.mark.parametrize(("lost", "answer"), [("10 of QUIC", "contradicted"),
                                             ("100 of QUIC", "open")])  # fmt: skip
def test_an_answer_with_many_loads_that_did_not_end_is_withdrawn(lost, answer):
    ours = "5.4 [1.2, 28]"
    assert told(GAIN, "contradicted", ours, pages="recorded", unended=lost)[0] == answer


def test_a_first_paint_within_a_frame_of_the_edge_decides_nothing_in_virtual_time():
    claim, ours = "wolsing2019-57", "0.53 RTT [0.52, 0.54]"  # 0.511 is allowed, at 760 ms
    assert told(claim, "contradicted", ours, pages="recorded")[0] == "contradicted"
    assert told(claim, "contradicted", ours, pages="recorded", way="virtual")[0] == "open"
    far = "1.5 RTT [1.4, 1.6]"
    assert told(claim, "contradicted", far, pages="recorded", way="virtual")[0] == "contradicted"


def test_what_a_claim_says_of_itself_stays():
    assert told("wolsing2019-63", "reproduced", "1 [1, 1]", pages="recorded")[0] == "derived"
    one = structs.replace(CLAIMS["wolsing2019-62"])
    assert one.untestable
