"""WPE WebKit speaks h1 and h2, according to itself, the server and the wire."""

import time
from pathlib import Path

import pytest
from msgspec import structs

from conftest import CLIENT, NETWORK, Track, judged, plan_of, told
from dragstrip.browsers.chromium53.browser import host_lines
from dragstrip.browsers.wpe.browser import PROTOCOL, SETTINGS, wpe
from dragstrip.model.browsers import WPE
from dragstrip.model.network import Network
from dragstrip.model.stack import ConnectionMode
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.testbed.wpe import installed
from page_loads import unless_found

pytestmark = unless_found(installed)


def make(
    track: Track,
    stack: str,
    connection: ConnectionMode = "first",
    *,
    network: Network = NETWORK,
    client: Client = CLIENT,
    without: str = "nothing",
    **changes: object,
) -> Visit:
    """Make a visit in WPE WebKit; `without` is a part of hosts that it cannot resolve."""
    page = track.page("6x20KB", hosts=3)
    track.bed.origin.serve(page)
    used = structs.replace(find_stack(stack), **changes)
    plan = plan_of(page, used, network=network, connection=connection, client=client)
    lines = [line for line in host_lines(used, track.bed.addresses) if without not in line]
    return judged(track.bed, track.browser(used.protocol, *lines, browser=WPE), plan)[0]


@pytest.mark.parametrize("connection", ["first", "repeat", "repeat-cached"])
@pytest.mark.parametrize("protocol", ["h1", "h2"])
def test_every_request_on_the_asked_protocol(track, protocol, connection):
    made = make(track, f"{protocol}-wpe", connection)
    assert made.outcome == "loaded", made.error
    assert told(made) == []
    fetched = [r for r in made.requests if not r.from_cache]
    assert {r.protocol for r in fetched} == {s.protocol for s in made.served} == {protocol}
    assert all(r.connection and r.remote_ip for r in fetched)
    assert len(made.requests) == 7
    assert made.browser.startswith("WPE WebKit 2.")
    assert made.plt_ms
    assert made.fcp_ms
    first = min(made.connections, key=lambda c: c.t_us)
    assert first.resumed == (connection != "first")
    if connection != "repeat-cached":
        assert [s.match for s in made.served] == ["exact"] * 7
        assert any(r.digest for r in made.requests)


def test_an_unknown_name_is_not_the_stacks_fault(track, codes):
    made = make(track, "h2-wpe", without="s2.synth")
    assert [r.error for r in made.requests if not r.protocol]
    assert "replay-miss" in codes(made)


def test_a_load_that_cannot_end_is_an_outcome(track):
    lost = structs.replace(NETWORK, down=structs.replace(NETWORK.down, loss=1.0))
    made = make(track, "h2-wpe", network=lost, client=structs.replace(CLIENT, timeout_s=4))
    assert made.outcome in ("timeout", "failed")
    assert told(made) == []


@pytest.mark.parametrize(
    ("protocol", "setting", "found"),
    [("h1", "SOUP_FORCE_HTTP1", "fallback"), ("h2", "G_TLS_GNUTLS_PRIORITY", "stack-drift")],
)
def test_what_no_setting_forces_is_not_believed(
    track, codes, monkeypatch, protocol, setting, found
):
    for settings in (SETTINGS, *PROTOCOL.values()):
        if setting in settings:
            monkeypatch.delitem(settings, setting)
    made = make(track, f"{protocol}-wpe")
    assert made.outcome == "loaded", made.error
    assert found in codes(made)


def test_nothing_of_it_stays_behind(track):
    page = track.page("6x20KB", hosts=3)
    track.bed.origin.serve(page)
    lines = host_lines(find_stack("h2-wpe"), track.bed.addresses)
    with wpe(track.bed, "h2", lines) as browser, browser.fresh_tab(CLIENT) as tab:
        assert tab.load(page.url).outcome == "loaded"
        running = set(browser.cpu_s())
        assert len(running) > 2  # WebKit's processes, too
    deadline = time.monotonic() + 10  # the kernel takes a moment
    while time.monotonic() < deadline and any(Path(f"/proc/{pid}").exists() for pid in running):
        time.sleep(0.05)
    assert not {pid for pid in running if Path(f"/proc/{pid}").exists()}
