"""What a link's timeline tells: pauses, windows, and queues that a crowd of connections filled."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import made
from dragstrip.model.network import Network
from dragstrip.model.visit import LinkReport, Timeline, Visit
from dragstrip.visit.course import crowd_drops, flight_bytes, flights, idle_ms
from dragstrip.visit.intervals import union, union_ms

PATH = Network.parse("80mbit/80mbit/50ms/0%/200ms")  # 10 bytes = 1 us, round trip 100 ms
ROUND = 100


def at(slots: dict[int, int], *, dropped: dict[int, int] | None = None, slot_ms: int = 1) -> Visit:
    """A visit whose only answer arrives from 100 to 1100 ms. The link carried these bytes per slot,
    both ways."""
    lost = dropped or {}
    course = Timeline(
        start_us=1_000_000_000,
        slot_us=slot_ms * 1000,
        slots=tuple((i, slots.get(i, 0), lost.get(i, 0)) for i in sorted({*slots, *lost})),
    )
    answer = structs.replace(
        made.request("https://a.test/", "h2", 0.0), response_start_ms=100.0, end_ms=1100.0
    )
    direction = made.direction(timeline=course)
    return made.visit(requests=(answer,), link=LinkReport(down=direction, up=direction))


def bursts(size: int, *starts: int) -> dict[int, int]:
    """Ten slots of a window each."""
    return {start + i: size // 10 for start in starts for i in range(10)}


WINDOWED = at(bursts(64_000, *range(100, 1100, ROUND)))
GROWING = at({s: n for i in range(5) for s, n in bursts(10_000 * 2**i, 100 + 100 * i).items()})
STEADY = at(dict.fromkeys(range(100, 1100), 10_000))


def test_a_window_is_as_large_in_every_round_trip_and_the_link_pauses_after_each():
    assert flight_bytes(WINDOWED, PATH, "down") == 64_000
    assert flights(WINDOWED, PATH, "down") == 10
    assert idle_ms(WINDOWED, PATH, "down") == 10 * 90


def test_slow_start_never_carries_the_same_twice():
    assert flight_bytes(GROWING, PATH, "down") == 160_000
    assert flights(GROWING, PATH, "down") == 1


def test_a_full_link_never_pauses():
    assert flight_bytes(STEADY, PATH, "down") == 100 * 10_000
    assert idle_ms(STEADY, PATH, "down") == 0


def test_what_is_slow_does_not_pause():
    slow = Network.parse("1mbit/1mbit/5ms/0%/200ms")  # 12 ms a packet
    assert idle_ms(at(dict.fromkeys(range(100, 1100, 12), 1500)), slow, "down") == 0


def test_a_chain_of_short_answers_is_no_window():
    """Each round trip carries the same, but no body was due in between."""
    chain = tuple(
        structs.replace(WINDOWED.requests[0], response_start_ms=start, end_ms=start + 10.0)
        for start in range(100, 1100, ROUND)
    )
    visit = structs.replace(WINDOWED, requests=chain)
    assert flight_bytes(visit, PATH, "down") is None
    assert flights(visit, PATH, "down") is None


def test_only_what_was_due_is_missed():
    early = at(bursts(64_000, 0))
    assert idle_ms(early, PATH, "down") == 1000
    assert idle_ms(early, PATH, "up") is None  # no upload took place
    undue = structs.replace(early.requests[0], response_start_ms=None)
    assert idle_ms(structs.replace(early, requests=(undue,)), PATH, "down") is None


def test_slots_longer_than_a_third_of_a_round_trip_tell_no_window():
    assert flight_bytes(at({1: 1000}, slot_ms=64), PATH, "down") is None
    assert flights(at({1: 1000}, slot_ms=64), PATH, "down") is None


def test_an_old_capsule_tells_nothing():
    old = made.visit()
    for measure in (idle_ms, flight_bytes, flights):
        assert measure(old, PATH, "down") is None
    assert crowd_drops(old, PATH) == 0  # its counters show it
    full = structs.replace(old.link, up=structs.replace(old.link.up, dropped_queue=3))
    assert crowd_drops(structs.replace(old, link=full), PATH) is None


def opening(*starts: float, dropped: dict[int, int]) -> Visit:
    """Connections that take 100 ms to open."""
    visit = at({}, dropped=dropped)
    requests = (
        structs.replace(visit.requests[0], connect_start_ms=start, connect_end_ms=start + 100)
        for start in starts
    )
    return structs.replace(visit, requests=tuple(requests))


@pytest.mark.parametrize(
    ("starts", "dropped", "count"),
    [
        ((0, 300, 310), {350: 4, 480: 2}, 6),
        ((0, 300, 310), {350: 4, 600: 20}, 4),  # an upload later
        ((0,), {50: 12}, 0),  # one connection
        ((0, 200), {250: 12}, 0),  # one after the other
        ((), {250: 12}, 0),
    ],
)
def test_drops_are_a_crowds_only_while_several_connections_open(starts, dropped, count):
    assert crowd_drops(opening(*starts, dropped=dropped), PATH) == count


SPANS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), max_size=12)


@given(SPANS)
def test_a_union_lies_apart_and_in_order(spans):
    found = union((start, start + length) for start, length in spans)
    assert all(a[1] < b[0] for a, b in pairwise(found))
    assert union_ms(found) == union_ms((start, start + length) for start, length in spans)
