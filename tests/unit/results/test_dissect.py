"""The dissection of a connection from its packets: handshake, first flight, repeated segments."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from dragstrip.results.dissect import dissect, first_flight, flow, unvalidated
from dragstrip.results.packets import Packet, read_packets, write_packets

DELAY_MS = 50.0
"""Delay of one way; all of it in the link."""
SEGMENT = 1448


def packet(side, at_ms, payload=0, *, delay=DELAY_MS, name="tcp-0", **more):
    fields = {"flags": 16} if name.startswith("tcp") else {}
    return Packet(
        time_ms=at_ms,
        left_ms=None if delay is None else at_ms + delay,
        due_ms=None if delay is None else at_ms + delay,
        side=side,
        flow=name,
        client="10.0.0.2:5000",
        server="10.64.0.1:443",
        bytes=payload + 52,
        payload=payload,
        **fields | more,
    )


def connection(gaps, *, dropped=(), name="tcp-0", protocol="h2"):
    """A request at 200 ms, its answer at 250 ms with these gaps, and its acknowledgement."""
    handshake = [
        packet("up", 0.0, 300, name=name, host="a.test", protocol=protocol),
        packet("down", 50.0, 900, name=name, seq=1),
        packet("up", 100.0, name=name),
    ]
    request = packet("up", 200.0, 80, name=name, seq=301, requests=[1], protocol=protocol)
    sent, at = [], 250.0
    for i, gap in enumerate([0.0, *gaps]):
        at += gap
        delay = None if i in dropped else DELAY_MS
        sent.append(packet("down", at, SEGMENT, name=name, delay=delay, seq=1000 + i * SEGMENT))
    first_seen = next((p.left_ms for p in sent if p.left_ms), 0.0)
    ack = packet("up", first_seen, name=name)
    late = packet("down", first_seen + DELAY_MS + 1, SEGMENT, name=name, seq=10**6)
    return sorted([*handshake, request, *sent, ack, late], key=lambda p: p.time_ms)


@given(st.lists(st.floats(0, 1.5), min_size=1, max_size=40))
def test_the_first_flight_is_what_comes_before_the_first_acknowledgement(gaps):
    flight = first_flight(connection(gaps))
    assert flight
    assert flight.packets == len(gaps) + 1
    assert flight.gaps_ms == pytest.approx(tuple(gaps))
    assert flight.acknowledged_ms == pytest.approx(2 * DELAY_MS)


def test_a_burst_is_not_paced_and_a_spread_window_is():
    assert first_flight(connection([0.01] * 9)).paced is False
    assert first_flight(connection([30.0] + [0.01] * 9)).paced is False  # after a pause
    assert first_flight(connection([1.5] * 31)).paced is True
    assert first_flight(connection([0.01] * 10 + [0.0, 3.0] * 10)).paced is True  # by the timer


def test_a_lost_first_packet_does_not_end_the_flight():
    assert first_flight(connection([0.1] * 9, dropped={0})).packets == 10


@pytest.mark.parametrize("late", ["down", "up"])
def test_what_is_answered_before_the_link_reads_its_clock_is_not_of_the_flight(late):
    def told(p):
        return structs.replace(p, left_ms=p.left_ms + 30) if p.side == late else p

    assert first_flight([told(p) for p in connection([0.1] * 9)]).packets == 10


def test_an_unanswered_request_has_no_flight():
    mine = [p for p in connection([0.1]) if p.side == "up"]
    assert flow(mine).first_flight is None
    assert (flow(mine).requests, flow(mine).packets_before_request) == (1, 2)


def test_what_is_sent_again_and_what_the_link_drops_are_told_apart():
    mine = connection([0.1] * 4, dropped={2})
    again = packet("down", 900.0, SEGMENT, seq=1000 + 2 * SEGMENT)
    told = flow([*mine, again])
    assert (told.retransmitted, told.link_drops) == (1, 1)
    quic = flow(connection([0.1], name="udp-0", protocol="h3"))
    assert quic.retransmitted is None


def test_shares_and_connections_per_host():
    found = connection([0.1] * 4) + connection([0.1] * 4, name="udp-0", protocol="h3")
    other = packet("down", 5.0, 1000, name="tcp-1", host=None)
    told = dissect([*found, other])
    assert told.connections_per_host == {"a.test": 2}
    assert sum(told.byte_share.values()) == pytest.approx(1)
    assert told.packet_share == {"h2": 11 / 23, "h3": 11 / 23, "tcp": 1 / 23}
    assert [f.host for f in told.flows] == ["a.test", "a.test", None]
    assert told.requests == 2


def test_packets_survive_their_file(tmp_path):
    found = connection([0.1] * 4, dropped={1})
    write_packets(tmp_path / "p.parquet", found)
    assert read_packets(tmp_path / "p.parquet") == found


def hello(side, at_ms, payload, *, kinds=(0,), delay=DELAY_MS, token=False):
    more = {"long_headers": list(kinds), "token": token, "protocol": "h3"}
    return packet(side, at_ms, payload, delay=delay, name="udp-0", **more)


def quic(*later):
    """A ClientHello of two packets at 0 ms, and what follows it."""
    first = [hello("up", 0.0, 1250), hello("up", 0.1, 1250)]
    return sorted([*first, *later], key=lambda p: p.time_ms)


def answer(at_ms, *sizes):
    return [hello("down", at_ms + i / 100, size, kinds=[0, 2]) for i, size in enumerate(sizes)]


def test_a_server_that_stops_at_three_times_what_it_received():
    seen = unvalidated(quic(*answer(51, *[1250] * 6), hello("up", 101, 1250, kinds=[0, 2])))
    assert (seen.received_bytes, seen.sent_bytes, seen.most_times) == (2500, 7500, 3.0)
    assert not (seen.retried)
    assert not (seen.by_token)


def test_a_server_that_sends_more_than_it_may():
    seen = unvalidated(quic(*answer(51, *[1452] * 6), hello("up", 101, 1250, kinds=[2])))
    assert seen.most_times == pytest.approx(6 * 1452 / 2500)


def test_what_follows_the_clients_handshake_packet_has_no_limit():
    after = answer(152, *[1452] * 20)
    seen = unvalidated(quic(*answer(51, 1250), hello("up", 101, 1250, kinds=[2]), *after))
    assert seen.sent_bytes == 1250


def test_a_lost_packet_of_the_client_allows_nothing():
    lost = hello("up", 0.1, 1250, delay=None)
    mine = [hello("up", 0.0, 1250), lost, *answer(51, *[1250] * 4)]
    assert unvalidated(mine).most_times == 4.0


def test_a_retry_is_all_that_a_server_sends_before_the_token():
    again = hello("up", 101, 1250, token=True)
    seen = unvalidated(quic(hello("down", 51, 90, kinds=[3]), again, *answer(152, *[1452] * 9)))
    assert (seen.retried, seen.by_token, seen.sent_bytes) == (True, True, 90)


def test_a_token_of_an_earlier_connection_validates_at_once():
    mine = [hello("up", 0.0, 1250, token=True), *answer(51, *[1452] * 9)]
    seen = unvalidated(mine)
    assert (seen.retried, seen.by_token, seen.received_bytes, seen.most_times) == (
        False,
        True,
        0,
        0,
    )


def test_tcp_has_no_such_limit():
    assert flow(connection([0.1])).unvalidated is None
