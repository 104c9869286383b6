"""What a real visit leaves of the wire: tshark decrypts it and finds the requests that browser and
origin tell of, at the times they tell; qlog is on the same clock."""

import json
import shutil

import pytest
from haralyzer import HarParser
from msgspec import structs

from conftest import CLIENT, judged, plan_of
from dragstrip.browsers.chromium import chromium, stack_flags
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.synth import synth
from dragstrip.results.dissect import dissection, packets
from dragstrip.study.presets import find_stack
from dragstrip.visit.har import har
from dragstrip.visit.qlog import read_windows

KEEPING = structs.replace(CLIENT, pcap=True, qlog=True)
CLOCKS_MS = 2.0
"""Largest difference of the browser's clock and the kernel's: a tenth of the round trip."""


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return write_page(tmp_path_factory.mktemp("page") / "wire.har.zip", synth("8x30KB", hosts=2))


@pytest.fixture(scope="module")
def capsule(tmp_path_factory):
    return tmp_path_factory.mktemp("capsule")


@pytest.fixture(scope="module")
def made(bed, page, capsule):
    """Visits by (stack, connection), each made once; with their HARs."""
    return {
        key: make(bed, page, capsule, *key)
        for key in [("h1", "first"), ("h2", "first"), ("h3", "first"), ("h3", "repeat")]
    }


def make(bed, page, capsule, name, connection):
    stack = find_stack(name)
    plan = plan_of(page, stack, connection=connection, client=KEEPING, artefacts=capsule)
    flags = stack_flags(stack, bed.addresses)
    with chromium(bed, stack.protocol, KEEPING, flags) as browser:
        one, load = judged(bed, browser, plan)
    assert one.outcome == "loaded", one.error
    return one, har(one, load, page.url, "Chromium 1")


@pytest.fixture(params=[("h1", "first"), ("h2", "first"), ("h3", "first"), ("h3", "repeat")])
def one(request, made):
    if not shutil.which("tshark"):
        pytest.skip("tshark is missing: apt-get install tshark")
    return made[request.param][0]


def test_the_capture_has_the_requests_of_browser_and_origin(one, capsule):
    told = dissection(capsule, one)
    assert told.requests == len(one.requests) == len(one.served)
    used = [f for f in told.flows if f.requests]  # over TCP the browser opens more than it needs
    assert {f.protocol for f in used} == {one.stack}
    assert set(told.connections_per_host) == {r.host for r in one.requests}
    serving = {(s.host, s.client_port) for s in one.served}
    assert sorted((f.host, int(f.client.rpartition(":")[2])) for f in used) == sorted(serving)
    assert told.missed_packets == 0
    assert all(f.first_flight for f in used)


def test_a_request_is_on_the_wire_between_its_sending_and_its_answer(one, capsule):
    """The request is found over h2 by its path, over h3 by its order, because tshark 4.0 reads no
    QPACK."""
    seen = [p for p in packets(capsule, one) if p.requests]
    if one.stack == "h3":
        on_wire = sorted(p.time_ms for p in seen for _ in p.requests)
        requests = sorted(one.requests, key=lambda r: r.send_start_ms)
        pairs = list(zip(on_wire, requests, strict=True))
    else:
        paths = {path: p.time_ms for p in seen for path in p.paths}
        pairs = [(paths["/" + r.url.split("/", 3)[3]], r) for r in one.requests]
    for at_ms, request in pairs:
        assert request.send_start_ms - CLOCKS_MS <= at_ms <= request.response_start_ms


def test_streams_carry_what_the_browser_received(one, capsule):
    if one.stack == "h1":
        pytest.skip("HTTP/1.1 has no streams")
    carried = sum(n for p in packets(capsule, one) if p.side == "down" for n in p.stream_bytes)
    bodies = sum(s.body_bytes for s in one.served)
    # QUIC's stream frames carry headers too.
    assert bodies <= carried <= bodies + 1000 * len(one.served)


def test_qlog_is_of_the_same_packets_on_the_same_clock(made, capsule):
    if not shutil.which("tshark"):
        pytest.skip("tshark is missing: apt-get install tshark")
    one, _ = made["h3", "first"]
    whole = json.loads((capsule / "qlog" / f"{one.file_name}.qlog").read_text())
    assert len(whole["traces"]) == len(one.connections) == 2
    flows = {}
    for p in packets(capsule, one):
        flows.setdefault(int(p.client.rpartition(":")[2]), []).append(p)
    for trace, connection in zip(whole["traces"], one.connections, strict=True):
        mine = flows[connection.client_port]
        received, sent = (
            [e["time"] for e in trace["events"] if e["name"] == f"transport:packet_{what}"]
            for what in ("received", "sent")
        )
        came_ms = next(p.left_ms for p in mine if p.side == "up")
        went_ms = next(p.time_ms for p in mine if p.side == "down")
        assert came_ms <= received[0] <= sent[0] <= went_ms
        bytes_sent = sum(
            e["data"]["header"]["length"]
            for e in trace["events"]
            if e["name"] == "transport:packet_sent" and e["time"] <= mine[-1].time_ms
        )
        assert bytes_sent >= sum(p.payload for p in mine if p.side == "down") > 30_000


@pytest.mark.parametrize("stack", ["h1", "h2"])
def test_the_window_of_tcp_grows_from_its_first_to_what_it_became(made, capsule, stack):
    one, _ = made[stack, "first"]
    windows = read_windows(capsule / "qlog" / f"{one.file_name}.qlog")
    for connection in one.connections:
        told, packet = connection.transport, connection.transport.packet_bytes
        seen = [w.window_bytes for w in windows[connection.id]]
        assert seen[0] == told.initial_window_packets * packet
        # At the end the kernel may cut it, for TLS's farewell comes after idleness.
        assert max(seen) >= told.window_packets * packet


def test_an_independent_reader_opens_the_har_of_a_real_visit(made):
    for one, archive in made.values():
        (read,) = HarParser(json.loads(json.dumps(archive))).pages
        assert {e.request.url for e in read.entries} == {r.url for r in one.requests}
        assert read.page_load_time == one.plt_ms


def test_only_what_was_asked_for_is_kept(made, capsule):
    folders = {p.name for p in capsule.iterdir()}
    assert folders <= {"pcap", "qlog", "wire"}
    assert {p.suffix for p in (capsule / "pcap").iterdir()} == {".pcapng", ".keys"}
    kept = {p.stem for p in (capsule / "qlog").iterdir()}
    assert kept == {one.file_name for one, _ in made.values()}
