"""A right load over recorded delays and grants is valid; each lie about them is found."""

import re

import pytest
from msgspec import structs

import made
from dragstrip.model.effects import Direction, Grant, HostPath
from dragstrip.model.network import Network
from dragstrip.model.steps import LinkStep
from dragstrip.model.thresholds import DEFAULTS
from dragstrip.model.trace import DelayTrace, Trace
from dragstrip.model.visit import Flights, LinkReport, Timeline
from dragstrip.verdict.judge import judge

DELAYS = DelayTrace(name="leo", steps=((0, 37), (0.1, 60), (0.2, 40), (1, 0)))
LEO = Network(
    name="LTE",
    down=Direction(rate_mbps=10.5, queue_ms=200, delay_trace=DELAYS),
    up=Direction(rate_mbps=2.8, delay_ms=37, queue_ms=200),
)
GRANTS = Network(
    name="LTE",
    down=Direction(rate_mbps=10.5, delay_ms=37, queue_ms=200),
    up=Direction(rate_mbps=2.8, delay_ms=20, queue_ms=200, grant=Grant(request_ms=10, delay_ms=8)),
)
ZERO_US = 1_000_000_000
SLOTS = (
    (0, 37_000, 37_010),
    (3, 37_000, 60_000),
    (6, 60_000, 60_010),
    (8, 40_000, 59_000),
    (9, 40_000, 40_100),
)
"""Flights in slots of 32 ms, as a right link reports them."""


def flights(*slots, zero_us=ZERO_US, slot_us=32_000):
    return Flights(zero_us=zero_us, slot_us=slot_us, slots=slots or SLOTS)


def said(network, down=None, up=None, **of_up):
    course = Timeline(start_us=ZERO_US, slot_us=1000, slots=((0, 100, 0),))
    link = LinkReport(
        down=made.direction(flights=down, timeline=course),
        up=made.direction(flights=up, timeline=course, **of_up),
    )
    visit = made.visit("h2", link=link)
    reasons = judge(visit, made.PAGE, network, made.STACKS["h2"], DEFAULTS)
    return "; ".join(reason.detail for reason in reasons if reason.code == "link-drift")


def test_a_right_load_over_recorded_delays_is_valid():
    assert said(LEO, flights()) == ""


@pytest.mark.parametrize(
    ("slots", "found"),
    [
        (
            ((0, 30_000, 37_000),),
            "a packet took 30.0 ms at 0 to 32 ms, where the network asks for 37",
        ),
        (((0, 37_000, 60_000),), "a packet took 60.0 ms at 0 to 32 ms, where .* 37 ms at most"),
        (((6, 37_000, 60_000),), "a packet took 37.0 ms at 192 to 224 ms, where .* 40 ms or more"),
        (((20, 40_000, 60_000),), "took 60.0 ms at 640 to 672 ms"),
        (tuple((i, 37_000, 37_000) for i in range(4, 20)), "13 more such moments"),
    ],
    ids=["too short", "too long", "constant", "late", "another recording"],
)
def test_a_link_that_plays_other_delays_is_found(slots, found):
    assert re.search(found, said(LEO, flights(*slots)))


def test_a_link_that_plays_a_recording_from_elsewhere_is_found():
    late = tuple((i + 5, least, most) for i, least, most in SLOTS)
    assert "where the network asks for" in said(LEO, flights(*late))
    assert "counted from 20.0 ms after the first packet" in said(
        LEO, flights(zero_us=ZERO_US + 20_000)
    )
    offset = structs.replace(LEO, down=structs.replace(LEO.down, trace_offset_ms=500))
    assert "where the network asks for" in said(offset, flights())
    assert said(offset, flights((0, 40_000, 40_000))) == ""


def test_a_link_without_a_course_of_delays_is_found():
    assert "followed no recording or schedule" in said(LEO)
    assert "followed a clock" in said(made.LTE, flights((0, 37_000, 37_000)))


def test_hosts_with_ways_of_their_own_may_take_longer():
    far = structs.replace(LEO.down, hosts=(HostPath(host="b.test", delay_ms=25),))
    network = structs.replace(LEO, down=far)
    assert said(network, flights((0, 37_000, 62_000))) == ""
    assert "at most" in said(network, flights((20, 37_000 + 3_000, 99_000)))


def waits(*slots, **changes):
    up = {"granted": 12, "transit_min_ms": 28.0, "flight_min_ms": 28.0} | changes
    return said(GRANTS, up=flights(*slots), **up)


def test_a_right_load_with_grants_is_valid():
    assert waits((0, 30_000, 38_000), (5, 28_000, 36_000)) == ""


@pytest.mark.parametrize(
    ("slots", "changes", "found"),
    [
        (((0, 20_000, 38_000),), {}, "a packet took 20.0 ms at 0 to 32 ms, .* 28 ms or more"),
        (((0, 28_000, 40_000),), {}, "a packet took 40.0 ms at 0 to 32 ms, .* 38 ms at most"),
        (((0, 28_000, 38_000),), {"granted": 0}, "no packet waited for a grant"),
        (((0, 28_000, 38_000),), {"transit_min_ms": 20.0}, "a packet passed in 20.000 ms"),
    ],
)
def test_a_link_that_grants_otherwise_is_found(slots, changes, found):
    assert re.search(found, waits(*slots, **changes))


def test_grants_without_a_request_for_them_are_found():
    assert "12 packets were held for a grant, which the network does not ask for" in said(
        made.LTE, granted=12
    )


def test_a_grant_waits_for_the_way_down():
    """While the way down is out, a grant may come at any time later."""
    still = Trace(name="tunnel", steps=((0, 10), (1, 0), (3, 10), (4, 0)))
    silent = structs.replace(GRANTS.down, rate_mbps=None, trace=still)
    for network in (
        structs.replace(GRANTS, down=silent),
        structs.replace(GRANTS, at=(LinkStep(t_ms=9000, outage_ms=500),)),
    ):
        up = {"granted": 12, "transit_min_ms": 28.0}
        assert "at most" not in said(network, up=flights((0, 28_000, 2_000_000)), **up)
