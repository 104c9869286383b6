"""Traces of visits, read as Perfetto would."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import made
from dragstrip.browsers.main_thread import Task
from dragstrip.model.visit import Connection, Timeline, Visual
from dragstrip.results.artefacts import tasks_file
from dragstrip.results.packets import Packet, write_packets
from dragstrip.results.perfetto.event_trace import EventTrace
from dragstrip.results.perfetto.visit import visit_trace
from dragstrip.results.tables.export import export
from made_capsule import capsule
from perfetto_processor import FOLDER, ask
from perfetto_reader import read

TIMES = {"h2": [1000.0], "h3": [900.0]}


def seen():
    """A visit with all artefacts."""
    one = made.visit("h3")
    us = one.started_us
    assert one.link is not None
    course = Timeline(start_us=us + 5000, slot_us=1000, slots=((0, 1500, 0), (3, 3000, 2)))
    down = structs.replace(one.link.down, timeline=course)
    opened = Connection(
        id=8,
        protocol="h3",
        host="a.test",
        client_port=4000,
        t_us=us + 40_000,
        handshake_end_us=us + 90_000,
    )
    return structs.replace(
        one,
        link=structs.replace(one.link, down=down),
        connections=(opened,),
        fcp_ms=250.0,
        visual=Visual(frames=2, progress=((300.0, 0.5), (600.0, 1.0))),
    )


QLOG = [
    {
        "common_fields": {"group_id": "8", "protocol_type": ["QUIC", "HTTP3"]},
        "events": [
            {
                "time": 91.0,
                "name": "recovery:metrics_updated",
                "data": {
                    "congestion_window": 14520,
                    "bytes_in_flight": 0,
                    "pacing_rate": 2_000_000,
                },
            },
            {"time": 92.0, "name": "recovery:packet_lost", "data": {"trigger": "time_threshold"}},
            {"time": 93.0, "name": "recovery:metrics_updated", "data": {"bytes_in_flight": 1200}},
        ],
    }
]


TASKS = [
    Task("ParseHTML", 30.0, 50.0, 0, "https://a.test/"),
    Task("EvaluateScript", 35.0, 50.001, 0, "https://a.test/a.js"),
    Task("AnimationFrame", 40.0, 70.0, 0, frame=True),
    Task("AnimationFrame", 60.0, 80.0, 0, frame=True),
    Task("Layout", 55.0, 56.0, 1),
]


def packet(time_ms, left_ms, side="down"):
    return Packet(
        time_ms=time_ms,
        left_ms=left_ms,
        due_ms=left_ms,
        side=side,
        flow="udp-0",
        client="10.64.0.1:4000",
        server="10.64.1.1:443",
        bytes=1000,
        payload=972,
    )


def test_every_request_is_a_span_with_its_phases_and_leads_to_its_answer():
    one = seen()
    found = read(visit_trace(one))
    asked = [s for s in found.spans if s.track.startswith("browser") and s.depth == 0]
    assert Counter(s.facts["url"] for s in asked) == Counter(r.url for r in one.requests)
    answered = [s for s in found.spans if s.track.startswith("server: answers")]
    instants = [i for i in found.instants if i[0].startswith("server: answers")]
    assert len(answered) + len(instants) == len(one.served)
    flows = {s.facts["url"]: s.flows for s in asked}
    assert all(flows[s.facts["url"]] == s.flows != () for s in answered)
    for request, span in zip(
        sorted(one.requests, key=lambda r: r.start_ms),
        sorted(asked, key=lambda s: s.start_ns),
        strict=True,
    ):
        assert span.start_ns == one.started_us * 1000 + round(request.start_ms * 1e6)
    phases = {s.name for s in found.spans if s.depth == 1}
    assert phases <= {"name lookup", "connect", "send", "wait", "receive"}
    assert {"wait", "receive"} <= phases


def test_what_the_link_carried_is_a_rate_and_its_drops():
    one = seen()
    found = read(visit_trace(one))
    at_ns = (one.started_us + 5000) * 1000
    assert found.tracks["link: down/down: rate out"] == "Mbit/s"
    ms = 1_000_000
    assert found.values["link: down/down: rate out"] == [
        (at_ns, 12.0),
        (at_ns + ms, 0.0),
        (at_ns + 3 * ms, 24.0),
        (at_ns + 4 * ms, 0.0),
    ]
    assert [v for _, v in found.values["link: down/down: dropped by the queue"]] == [0, 0, 2, 0]


def test_packets_fill_the_link_and_empty_it_again():
    packets = [packet(10, 40), packet(20, 45), packet(30, None), packet(31, 50, side="up")]
    found = read(visit_trace(seen(), packets=packets))
    assert [v for _, v in found.values["link: down/down: bytes inside"]] == [1000, 2000, 1000, 0]
    assert [v for _, v in found.values["link: down/down: time in the link"]] == [30, 25]
    assert [i[1] for i in found.instants if i[0] == "link: down/down: dropped packets"] == [
        "dropped"
    ]
    assert [v for _, v in found.values["link: up/up: time in the link"]] == [19]


def test_a_connection_shows_its_handshake_and_its_state():
    found = read(visit_trace(seen(), qlog=QLOG))
    line = "server: connections/8: a.test, h3"
    (handshake,) = [s for s in found.spans if s.track == line]
    assert handshake.end_ns - handshake.start_ns == 50_000_000
    assert [v for _, v in found.values[f"{line}/8: bytes in flight"]] == [0, 1200]
    assert [v for _, v in found.values[f"{line}/8: pacing rate"]] == [2.0]
    assert (line, "packet lost") in [(path, name) for path, name, _ in found.instants]


def test_work_nests_on_its_thread_and_frames_are_beside():
    one = seen()
    found = read(visit_trace(one, tasks=TASKS))
    start_ns = one.started_us * 1000
    work = {s.name: s for s in found.spans if s.track == "browser: main thread/work 1"}
    assert {name: s.depth for name, s in work.items()} == {"ParseHTML": 0, "EvaluateScript": 1}
    assert work["EvaluateScript"].facts == {"what": "https://a.test/a.js"}
    # What seems to outlast what it is part of by a rounding ends with it.
    assert [s.end_ns - start_ns for s in work.values()] == [50_000_000, 50_000_000]
    assert [s.name for s in found.spans if s.track.endswith("work 2")] == ["Layout"]
    frames = [s for s in found.spans if s.track.startswith("browser: frames/")]
    assert sorted((s.start_ns - start_ns) / 1e6 for s in frames) == [40, 60]
    assert len({s.track for s in frames}) == 2


def test_no_two_tracks_have_one_name():
    packets = [packet(10, 40), packet(20, None), packet(31, 50, side="up")]
    qlog = [*QLOG, {**QLOG[0], "common_fields": {"group_id": "9"}}]
    one = seen()
    other = structs.replace(one.connections[0], id=9)
    both = structs.replace(one, connections=(*one.connections, other))
    found = read(visit_trace(both, qlog, packets, [1.0], TASKS))
    names = Counter(path.rpartition("/")[2] for path in found.tracks)
    assert names.total() > 30
    assert [name for name, times in names.items() if times > 1] == []


def test_page_frames_and_paints_are_there():
    one = seen()
    found = read(visit_trace(one, frames_ms=[-5.0, 300.0]))
    names = [name for _, name, _ in found.instants]
    assert {"frame 0", "frame 1", "first contentful paint"} <= set(names)
    page = next(path for path in found.tracks if path.startswith("page: "))
    assert [v for _, v in found.values[f"{page}/visually complete"]] == [50, 100]
    (load,) = [s for s in found.spans if s.track == f"{page}/load"]
    assert load.facts["verdict"] == ("valid" if one.valid else "not valid")


def test_a_capsule_gives_a_trace_per_visit_whatever_it_kept(tmp_path):
    found = capsule(tmp_path / "c", TIMES)
    (tmp_path / "c" / "wire").mkdir()
    first = next(found.visits())
    write_packets(tmp_path / "c" / "wire" / f"{first.file_name}.parquet", [packet(1, 2)])
    kept = tasks_file(tmp_path / "c", first)
    kept.parent.mkdir()
    kept.write_bytes(msgspec.json.encode(TASKS[-1:]))
    files = export(found, tmp_path / "out", "perfetto")
    assert [f.name for f in files] == [f"{v.file_name}.perfetto-trace" for v in found.visits()]
    with_packets, without = (read(f.read_bytes()) for f in files)
    assert [s.name for s in with_packets.spans if "main thread" in s.track] == ["Layout"]
    assert "link: down/down: bytes inside" in with_packets.tracks
    assert "link: down/down: bytes inside" not in without.tracks


def test_a_visit_without_evidence_is_a_trace_too():
    one = made.visit("h2")
    bare = structs.replace(
        one, requests=(), served=(), connections=(), link=None, plt_ms=None, fcp_ms=None
    )
    found = read(visit_trace(bare))
    assert any(path.endswith("/load") for path in found.tracks)


@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 30), st.text(max_size=70)), max_size=40)
)
def test_requests_that_overlap_in_any_way_still_nest(times):
    one = made.visit("h2")
    base = one.requests[0]
    requests = tuple(
        structs.replace(
            base,
            url=f"https://a.test/{name}",
            start_ms=float(start),
            end_ms=float(start + length),
            dns_start_ms=None,
            dns_end_ms=None,
            connect_start_ms=float(start),
            connect_end_ms=float(start + length // 2),
            send_start_ms=float(start + length // 2),
            send_end_ms=float(start + length // 2),
            response_start_ms=float(start + length),
        )
        for start, length, name in times
    )
    found = read(visit_trace(structs.replace(one, requests=requests, served=())))
    shown = [s for s in found.spans if s.track.startswith("browser") and s.depth == 0]
    shown_instants = [i for i in found.instants if i[0].startswith("browser")]
    assert len(shown) + len(shown_instants) == len(requests)


def test_the_reader_refuses_what_perfetto_would_not_show():
    trace = EventTrace()
    line = trace.track("line")
    trace.span(line, "one", 10, 20)
    good = trace.encoded()
    read(good)
    for planted in (b"\x0a\x03\xc0\x3e\x01", b"\x0a\x06\x50\x01\x40\x01\x58\x01"):
        with pytest.raises(AssertionError):
            read(good + planted)
    crossing = EventTrace()
    line = crossing.track("line")
    crossing.span(line, "one", 10, 30)
    crossing.span(line, "two", 20, 40)
    first, second = sorted(read(crossing.encoded()).spans, key=lambda s: s.start_ns)
    assert second.end_ns != 40, "spans that cross are drawn wrong, so lanes must prevent them"
    assert first.name == "one"


ERRORS = "select name from stats where severity in ('error', 'data_loss') and value > 0"


def opened(trace, *queries):
    """What Perfetto's own trace processor answers about a trace."""
    if not FOLDER.exists():
        pytest.skip("scripts/setup perfetto")
    *answers, errors, unread = ask(
        trace,
        [*queries, ERRORS, "select value from stats where name = 'track_event_parser_errors'"],
    )
    assert not errors
    assert all(row["value"] == 0 for row in unread)
    return answers


def test_perfetto_s_own_processor_opens_a_trace_with_everything_and_shows_what_is_in_it():
    one = seen()
    packets = [packet(10, 40), packet(20, 45), packet(30, None), packet(31, 50, side="up")]
    trace = visit_trace(one, QLOG, packets, frames_ms=[-5.0, 300.0], tasks=TASKS)
    ours = read(trace)
    slices, values, units, flows = opened(
        trace,
        "select s.name, ts, dur, t.name as track from slice s join track t on t.id = track_id",
        "select t.name as track, ts, value from counter join counter_track t on t.id = track_id",
        "select distinct name, unit from counter_track",
        "select count(*) as n from flow",
    )
    spans = [(s.track, s.name, s.start_ns, s.end_ns - s.start_ns) for s in ours.spans]
    expected = Counter(
        (path.rpartition("/")[2], name, at_ns, length_ns)
        for path, name, at_ns, length_ns in [*spans, *((*each, 0) for each in ours.instants)]
    )
    assert Counter((s["track"], s["name"], s["ts"], s["dur"]) for s in slices) == expected
    assert Counter((v["track"], v["ts"], v["value"]) for v in values) == Counter(
        (path.rpartition("/")[2], at_ns, value)
        for path, each in ours.values.items()
        for at_ns, value in each
    )
    assert {u["name"]: u["unit"] for u in units} == {
        path.rpartition("/")[2]: unit for path, unit in ours.tracks.items() if unit
    }
    assert flows == [{"n": len(one.served)}]


def test_perfetto_s_own_processor_refuses_what_is_no_trace():
    trace = EventTrace()
    trace.span(trace.track("line"), "one", 10, 20)
    opened(trace.encoded())
    with pytest.raises(AssertionError):
        opened(b"no trace" * 100)
    with pytest.raises(AssertionError):
        opened(trace.encoded() + b"\x0a\x06\x50\x01\x40\x01\x58\x01")
