"""Firefox over WebDriver BiDi speaks every protocol, according to itself, the server and the
wire."""

import shutil
import time

import pytest
from msgspec import structs

import ours
from conftest import CLIENT, NETWORK, Track, judged, plan_of, told
from dragstrip.browsers.firefox.browser import find_firefox, firefox, stack_lines
from dragstrip.model.browsers import FIREFOX
from dragstrip.model.network import Network
from dragstrip.model.stack import ConnectionMode
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.results.dissect import dissection
from dragstrip.study.presets import find_stack
from dragstrip.testbed.errors import TestbedError
from page_loads import unless_found

SLOW = Network.parse("2mbit/1mbit/100ms/0%/400ms")


pytestmark = unless_found(find_firefox)


def make(
    track: Track,
    stack: str,
    connection: ConnectionMode = "first",
    *,
    network: Network = NETWORK,
    client: Client = CLIENT,
    artefacts=None,
    without: str = "nothing",
    **changes: object,
) -> Visit:
    """Make a visit in Firefox; `without` are preferences to leave out."""
    page = track.page("6x20KB", hosts=3)
    track.bed.origin.serve(page)
    used = structs.replace(find_stack(stack), **changes)
    plan = plan_of(
        page, used, network=network, connection=connection, client=client, artefacts=artefacts
    )
    lines = [line for line in stack_lines(used, track.bed.addresses) if without not in line]
    keeping = structs.replace(CLIENT, pcap=client.pcap)
    browser = track.browser(used.protocol, *lines, browser=FIREFOX, client=keeping)
    return judged(track.bed, browser, plan)[0]


def running() -> set[int]:
    """Process ids of our Firefox and its helpers."""
    folder = str(find_firefox().parent)
    return {pid for pid, argv in ours.processes().items() if argv[0].startswith(folder)}


@pytest.mark.parametrize("connection", ["first", "repeat", "repeat-cached"])
@pytest.mark.parametrize("protocol", ["h1", "h2", "h3"])
def test_every_request_on_the_asked_protocol(track, protocol, connection):
    made = make(track, f"{protocol}-firefox", connection)
    assert made.outcome == "loaded", made.error
    assert told(made) == []
    fetched = [r for r in made.requests if not r.from_cache]
    assert {r.protocol for r in fetched} == {s.protocol for s in made.served} == {protocol}
    assert len(made.requests) == 7
    assert made.browser.startswith("firefox/1")
    assert "headless" in made.browser
    assert made.plt_ms
    assert made.fcp_ms
    first = min(made.connections, key=lambda c: c.t_us)
    assert first.resumed == (connection != "first")
    assert (made.ttfb_ms is None) == (protocol == "h1")
    assert made.unmeasured
    assert "the address of each answer" in made.unchecked
    if connection != "repeat-cached":
        assert [s.match for s in made.served] == ["exact"] * 7
        assert any(r.digest for r in made.requests)


@pytest.mark.parametrize("protocol", ["h2", "h3"])
def test_early_data_goes_with_the_first_message(track, protocol):
    made = make(track, f"{protocol}-firefox", "repeat", network=SLOW, early_data=True)
    assert told(made) == []
    assert made.served[0].early
    assert (made.requests[0].send_start_ms is None) == (protocol == "h3")
    assert not any(s.early for s in make(track, f"{protocol}-firefox", "repeat").served)


def test_a_repeat_visit_waits_until_the_closed_connection_is_forgotten(track):
    made = make(track, "h3-firefox", "repeat", network=SLOW)
    assert told(made) == []
    assert made.requests[0].connect_start_ms < 50


def test_what_falls_back_is_not_believed(track, codes):
    made = make(track, "h3-firefox", without="alt-svc-mapping")
    assert made.outcome == "loaded"
    assert codes(made) & {"fallback", "mixed"}


def test_an_unknown_name_is_not_the_stacks_fault(track, codes):
    made = make(track, "h2-firefox", without="s2.synth")
    assert {r.error for r in made.requests if not r.protocol} == {"NS_ERROR_UNKNOWN_HOST"}
    assert "replay-miss" in codes(made)


def test_a_load_that_cannot_end_is_an_outcome(track):
    lost = structs.replace(NETWORK, down=structs.replace(NETWORK.down, loss=1.0))
    made = make(track, "h2-firefox", network=lost, client=structs.replace(CLIENT, timeout_s=4))
    assert made.outcome in ("timeout", "failed")
    assert told(made) == []


@pytest.mark.parametrize("protocol", ["h1", "h2", "h3"])
def test_its_packets_can_be_read(track, protocol, tmp_path):
    if not shutil.which("tshark"):
        pytest.skip("tshark is missing: apt-get install tshark")
    keeping = structs.replace(CLIENT, pcap=True)
    made = make(track, f"{protocol}-firefox", client=keeping, artefacts=tmp_path)
    assert told(made) == []
    seen = dissection(tmp_path, made)
    assert seen.requests == len(made.served)
    assert {f.protocol for f in seen.flows if f.requests} == {protocol}


def test_nothing_of_it_stays_behind(track):
    before, page = running(), track.page("6x20KB", hosts=3)
    track.bed.origin.serve(page)
    lines = stack_lines(find_stack("h2-firefox"), track.bed.addresses)
    with firefox(track.bed, "h2", CLIENT, lines) as browser, browser.fresh_tab(CLIENT) as tab:
        assert tab.load(page.url).outcome == "loaded"
        assert running() - before  # earlier processes may have ended meanwhile
    deadline = time.monotonic() + 5
    while (left := running() - before) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def test_a_browser_that_does_not_start_says_so(track, monkeypatch, home):
    program = home / "firefox"
    program.write_text("#!/bin/sh\necho no display >&2\nexit 1\n")
    program.chmod(0o755)
    monkeypatch.setattr("dragstrip.browsers.firefox.browser.find_firefox", lambda: program)
    with (
        pytest.raises(TestbedError, match=r"Firefox did not start: .*no display"),
        firefox(track.bed, "h2", CLIENT, ()),
    ):
        pass
