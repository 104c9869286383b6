"""Pictures of connections draw every packet once, in the right kind."""

import pytest
from msgspec import structs

from dragstrip.report.figures.connections import sending, streams
from dragstrip.results.dissect import flow
from dragstrip.results.packets import Packet
from dragstrip.visit.qlog import Window

KINDS = ("sent", "dropped by the link", "sent again")
HOSTILE = "/<script>alert(1)</script>"


def packet(side, at_ms, payload, *, dropped=False, **more):
    return Packet(
        time_ms=at_ms,
        left_ms=None if dropped else at_ms + 20,
        due_ms=None if dropped else at_ms + 20,
        side=side,
        flow="tcp-0",
        client="10.0.0.2:5000",
        server="10.64.0.1:443",
        bytes=payload + 52,
        payload=payload,
        flags=16,
        **more,
    )


@pytest.fixture
def mine():
    """Two h2 streams that take turns; one packet is lost and comes again."""
    asked = packet("up", 0, 80, seq=1, ack=1, protocol="h2", requests=[1, 3], paths=["/a", HOSTILE])
    sent = [
        packet("down", 30 + i, 1000, seq=1 + 1000 * i, dropped=i == 2, protocol="h2")
        for i in range(6)
    ]
    again = packet("down", 90, 1000, seq=2001, streams=[1, 3], stream_bytes=[3000, 2900])
    acks = [packet("up", 51, 0, ack=2001), packet("up", 111, 0, ack=6001)]
    return sorted([asked, *sent, again, *acks], key=lambda p: p.time_ms)


def rows(chart):
    """The data behind every mark of a chart."""
    parts = [part for key in ("vconcat", "layer") for part in chart.get(key, [])]
    return [*chart.get("data", {}).get("values", []), *(row for p in parts for row in rows(p))]


def test_every_packet_down_is_a_point_of_its_kind(mine):
    drawn = rows(sending(flow(mine), mine, []).spec)
    assert sorted(row["what"] for row in drawn if row["what"] in KINDS) == [
        "dropped by the link",
        "sent",
        "sent",
        "sent",
        "sent",
        "sent",
        "sent again",
    ]


def test_streams_are_named_by_their_paths(mine):
    named = [row["stream"] for row in rows(streams(flow(mine), mine).spec)]
    assert set(named) == {"1 /a", f"3 {HOSTILE}"}


def test_quic_draws_the_window_the_origin_told(mine):
    quic = [structs.replace(p, seq=None, ack=None, flags=None, protocol="h3") for p in mine]
    picture = sending(flow(quic), quic, [Window(30.0, 46336, 1452), Window(60.0, 50000, None)])
    assert [row["kB"] for row in rows(picture.spec) if row["what"] == "window"] == [46.336, 50.0]
    assert "sent again" not in picture.caption
