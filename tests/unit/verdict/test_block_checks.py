"""Comparisons of a block's visits, up to each limit and just beyond."""

import pytest
from msgspec import structs

import made
from dragstrip.model.study import Study
from dragstrip.model.visit import LinkReport, Visit
from dragstrip.verdict.block_checks import against
from dragstrip.verdict.loss_checks import masks
from dragstrip.verdict.together import in_blocks, with_reasons

STUDY = made.study()


def codes(*visits: Visit, study: Study = STUDY) -> dict[str, set[str]]:
    return {stack: {r.code for r in found} for stack, found in against(study, visits).items()}


def lossy(stack: str, down: str = "", up: str = "") -> Visit:
    link = LinkReport(down=made.direction(loss_fates=down), up=made.direction(loss_fates=up))
    return made.visit(stack, link=link)


def test_runs_become_bits():
    assert masks("") == (0, 0)
    assert masks("2+-.+") == (0b10111, 0b00100)
    assert masks("3.2-") == (0b11000, 0b11000)


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("812+-100+", "812+-100+", False),
        ("812+-100+", "812+-", False),  # a shorter visit
        ("812+-100+", "812+2-99+", True),
        ("812+-100+", "813+-99+", True),
        ("812+-100+", "811+.-100+", False),  # a queue had dropped one before
        ("812+-100+", "811+2.100+", False),
        ("812+-100+", "", False),  # an old capsule
        ("-" * 3, "+++", True),
    ],
)
@pytest.mark.parametrize("side", ["down", "up"])
def test_one_packet_lost_for_one_stack_alone_is_drift(one, other, said, side):
    visits = [lossy("h2", **{side: one}), lossy("h3", **{side: other})]
    assert codes(*visits) == ({"h2": {"link-drift"}, "h3": {"link-drift"}} if said else {})


def test_the_first_packet_that_differs_is_named():
    visits = [lossy("h2", down="812+-100+"), lossy("h3", down="812+2-99+")]
    (reason,) = against(STUDY, visits)["h3"]
    assert "down: 1 of 913 packets" in reason.detail
    assert "packet 813" in reason.detail


def test_block_reasons_are_added_once():
    visits = [lossy("h2", up="+"), lossy("h3", up="-")]
    found = in_blocks(STUDY, visits)
    once = list(with_reasons(visits, found))
    assert [v.verdict for v in once] == ["link-drift", "link-drift"]
    assert list(with_reasons(once, found)) == once


def fetched(stack: str, extra_bytes: int) -> Visit:
    """A visit with an object before the load event beside the page's 60,000 bytes."""
    honest = made.visit(stack)
    url = "https://a.test/once"
    line = made.served(url, stack, body_bytes=extra_bytes, t_us=honest.served[-1].t_us)
    return structs.replace(honest, served=(*honest.served, line)) if extra_bytes else honest


@pytest.mark.parametrize(("more", "said"), [(3157, False), (3158, True)])
def test_bytes_that_one_stack_fetched_alone_count_beyond_the_limit(more, said):
    """The limit is 5 %: 3157 of 63,157 bytes are 4.9987 %."""
    found = codes(fetched("h2", more), fetched("h3", 0))
    assert found == ({"h3": {"content-mismatch"}} if said else {})


def test_browsers_are_not_held_against_each_other():
    older = structs.replace(made.STACKS["h1"], browser="chromium70", tls="1.2")
    study = structs.replace(STUDY, stacks=(older, made.STACKS["h2"]))
    assert codes(fetched("h2", 50_000), fetched("h1", 0), study=study) == {}


def test_what_depends_on_something_late_may_be_missing():
    late = fetched("h3", 0)
    last = structs.replace(late.requests[-1], end_ms=late.plt_ms + 1)
    late = structs.replace(late, requests=(*late.requests[:-1], last))
    assert codes(fetched("h2", 50_000), late) == {}


def test_what_was_asked_for_and_not_served_is_an_outcome():
    asked = fetched("h3", 0)
    lost = made.request("https://a.test/once", "h3", 300.0)
    lost = structs.replace(lost, protocol=None, error="net::ERR_CONNECTION_RESET")
    asked = structs.replace(asked, requests=(*asked.requests, lost))
    assert codes(fetched("h2", 50_000), asked) == {}


def test_another_body_for_one_stack_is_a_mismatch_for_both():
    honest = made.visit("h2")
    log = (*honest.served[:-1], structs.replace(honest.served[-1], digest="f" * 16))
    other = structs.replace(made.visit("h3"), served=log)
    assert codes(honest, made.visit("h1"), other) == {
        stack: {"content-mismatch"} for stack in ("h1", "h2", "h3")
    }
    silent = tuple(structs.replace(s, digest="") for s in log)
    assert codes(honest, structs.replace(other, served=silent)) == {}


@pytest.mark.parametrize(("mhz", "said"), [(3040.0, False), (3039.0, True), (None, False)])
def test_cpus_limited_more_than_in_another_visit_are_overload(mhz, said):
    def at(stack: str, limit: float | None) -> Visit:
        host = structs.replace(made.visit().host, cpu_limit_mhz=limit)
        return made.visit(stack, host=host)

    found = codes(at("h2", 3200.0), at("h3", mhz))
    assert found == ({"h3": {"overloaded"}} if said else {})
