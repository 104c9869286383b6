"""HTTP/1.1, HTTP/2 and gQUIC in Chromium 70 and 78, proven by browser, server and wire."""

import re

import pytest
from msgspec import structs

from conftest import CLIENT, Track, judged, plan_of, told
from dragstrip.browsers.chromium import stack_flags
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.testbed.legacy.catalogue import catalogue

STACKS = [
    f"{name}{generation}"
    for generation in ("70", "78")
    for name in ("h1-chromium", "h2-chromium", "gQUIC-chromium")
] + ["TCP-chromium70-go"]

pytestmark = pytest.mark.skipif(
    not all(i.installed for i in catalogue().values() if i.group == "gquic"),
    reason="old browsers are missing: dragstrip legacy install gquic",
)


def made_for(name: str) -> Stack:
    return find_stack("gQUIC" if name == "gQUIC-chromium70" else name)


def make(
    track: Track, name: str, connection: ConnectionMode = "first", *, over: str = ""
) -> tuple[Visit, list[str]]:
    """A visit that claims the stack `name`, in a browser started for the stack `over`."""
    stack = made_for(name)
    used = find_stack(over) if over else stack
    page = track.page("6x20KB", hosts=3)
    track.bed.origin.serve(page)
    client = structs.replace(CLIENT, frames=True)
    plan = plan_of(page, stack, connection=connection, client=client)
    browser = track.browser(
        used.protocol, *stack_flags(used, track.bed.addresses), browser=used.browser
    )
    made = judged(track.bed, browser, plan)[0]
    return made, told(made)


@pytest.mark.parametrize("connection", ["first", "repeat"])
@pytest.mark.parametrize("name", STACKS)
def test_every_request_on_the_asked_protocol(track, name, connection):
    made, against = make(track, name, connection)
    assert made.outcome == "loaded", made.error
    assert against == []
    asked = made_for(name).protocol
    assert {r.protocol for r in made.requests} == {asked}
    assert (
        {s.protocol for s in made.served}
        == {c.protocol for c in made.connections if not c.error}
        == {asked}
    )
    assert [s.match for s in made.served] == ["exact"] * 7
    reached = {c.host for c in made.connections if not c.error and c.host}
    assert reached == set(track.page("6x20KB", hosts=3).hosts)
    assert made.fcp_ms
    assert made.visual
    assert made.visual.fvc_ms is not None
    if made_for(name).server == "gquic-origin":
        assert {c.resumed for c in made.connections} == {connection == "repeat"}
        assert len(made.connections) == 3 or asked == "h2"  # Chromium opens spare ones over TCP
        assert made.served[0].early == (asked == "gquic" and connection == "repeat")
    if "70" in name:
        assert made.host
        assert made.host.browser_cpu_s
        assert made.lcp_ms is None
        assert "largest contentful paint" in made.unmeasured[0]


@pytest.mark.parametrize(
    ("claimed", "over", "complaint"),
    [
        (
            "gQUIC",
            "h2-chromium70",
            "fallback: the stack asks for gquic, but the browser saw 7 on h2",
        ),
        (
            "h1-chromium70",
            "h2-chromium70",
            "fallback: the stack asks for h1, but the browser saw 7 on h2",
        ),
    ],
)
def test_another_protocol_is_a_fallback(track, claimed, over, complaint):
    _, against = make(track, claimed, over=over)
    assert against[0].startswith(complaint)


def test_contexts_share_no_session(track):
    """A first visit in the same process has no session, even after a repeat visit."""
    make(track, "gQUIC", "repeat")
    made, against = make(track, "gQUIC")
    assert against == []
    assert not any(c.resumed for c in made.connections)


def test_scripts_draw_the_same_numbers(track):
    """The oldest of these browsers understands the preludes."""
    browser = track.browser("h2", browser="chromium70")
    drawn = []
    for _ in range(2):
        with browser.fresh_tab(CLIENT) as tab:
            browser.cdp.call("Page.navigate", tab.session, url="data:text/html,<p>")
            found = browser.cdp.call("Runtime.evaluate", tab.session, expression="Math.random()")
            drawn.append(found["result"]["value"])
    assert drawn[0] == drawn[1]


def test_the_version_on_the_wire_is_q043(track, tmp_path, monkeypatch):
    """A packet carries the version after its flags and connection id until the server has answered
    (Chromium's QUIC wire layout specification, public header)."""
    capture, link = tmp_path / "link.pcapng", track.bed.link
    configure = link.configure
    monkeypatch.setattr(link, "configure", lambda n, seed, record: configure(n, seed, capture))
    made, against = make(track, "gQUIC")
    assert against == []
    versions = re.findall(rb"(?s)[\x09\x0d\x19].{8}(Q\d{3})", capture.read_bytes())
    assert len(versions) >= len(made.connections) == 3
    assert set(versions) == {b"Q043"}
