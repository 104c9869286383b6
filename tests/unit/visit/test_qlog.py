"""A visit's qlog: one file, a trace a connection, with what draft-ietf-quic-qlog-main-schema-02
requires."""

import json

import pytest
from msgspec import structs

import made
from dragstrip.model.visit import Connection
from dragstrip.visit.qlog import Window, keep_qlog, read_windows, trace

HEAD = {"qlog_version": "0.3", "qlog_format": "JSON-SEQ", "trace": {}}
METRICS = "recovery:metrics_updated"
EVENTS = [
    {"time": 1.5, "name": METRICS, "data": {"min_rtt": 0.025, "congestion_window": 46336}},
    {"time": 2.0, "name": "transport:packet_sent", "data": {"header": {"packet_number": 0}}},
    {"time": 9.0, "name": METRICS, "data": {"bytes_in_flight": 1452}},
]


def visit():
    """A visit whose second connection was accepted 40 ms after the navigation began."""
    one = made.visit("h3")
    opened = [
        Connection(id=i, protocol="h3", host="a.test", client_port=i, t_us=one.started_us + late)
        for i, late in ((7, 0), (8, 40_000))
    ]
    return structs.replace(one, connections=tuple(opened))


@pytest.fixture
def kept(tmp_path):
    events = [event | {"group_id": "dcid"} for event in EVENTS]
    sequence = "".join(f"\x1e{json.dumps(r)}\n" for r in [HEAD, *events])
    (tmp_path / "8.sqlog").write_text(sequence + '\x1e{"time": 1')  # still being written
    keep_qlog(tmp_path, visit(), tmp_path / "qlog" / "one")
    return tmp_path / "qlog" / "one.qlog"


def test_times_are_on_the_visit_s_clock_and_round_trips_in_milliseconds(kept):
    (found,) = json.loads(kept.read_text())["traces"]
    assert [event["time"] for event in found["events"]] == [41.5, 42.0, 49.0]
    assert found["events"][0]["data"] == {"min_rtt": 25.0, "congestion_window": 46336}
    assert found["common_fields"]["reference_time"] == visit().started_us / 1000


def test_what_the_draft_requires_is_there(kept):
    whole = json.loads(kept.read_text())
    assert (whole["qlog_version"], whole["qlog_format"]) == ("0.3", "JSON")
    for found in whole["traces"]:
        assert found["vantage_point"]["type"] == "server"
        assert found["common_fields"]["group_id"] == "8"
        for event in found["events"]:
            assert {"time", "name", "data"} <= set(event)
            assert len(event["name"].split(":")) == 2


@pytest.mark.parametrize(
    ("protocol", "types"), [("h3", ["QUIC", "HTTP3"]), ("h2", ["TCP", "HTTP2"]), (None, ["TCP"])]
)
def test_a_trace_says_what_it_is_of(protocol, types):
    one = visit()
    opened = structs.replace(one.connections[0], protocol=protocol)
    sequence = f"\x1e{json.dumps(HEAD)}\n".encode()
    assert trace(sequence, opened, one)["common_fields"]["protocol_type"] == types


def test_windows_carry_over_what_an_event_leaves_out(kept):
    assert read_windows(kept) == {8: [Window(41.5, 46336, None), Window(49.0, 46336, 1452)]}


def test_no_connection_no_file(tmp_path):
    keep_qlog(tmp_path, visit(), tmp_path / "qlog" / "one")
    assert not (tmp_path / "qlog").exists()
