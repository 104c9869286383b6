"""Pages with WebSockets, ports of their own, streams and workers: their loads count in both
browsers, over each protocol."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from msgspec import structs

from conftest import LENIENT, judged, plan_of, told
from dragstrip.browsers.chromium import inside
from dragstrip.browsers.record import record
from dragstrip.browsers.registry import kind_of
from dragstrip.model.addresses import servers
from dragstrip.model.browsers import FIREFOX, TODAY
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Message, Recorded, RecordedSocket, Recording
from dragstrip.study.presets import find_stack
from dragstrip.testbed import testbed
from dragstrip.testbed.net.layout import layouts
from dragstrip.testbed.testbed import Testbed

URL = "https://a.test/"
SOCKET = "wss://push.test/live?x=1"
ANY = ("access-control-allow-origin", "*")
TALKS = f"""<!doctype html><title>t</title><p>hi<script>
const socket = new WebSocket("{SOCKET}", ["chat"]);
socket.onopen = () => socket.send("hello");
socket.onmessage = ({{data}}) => {{ if (data == "go") performance.mark("told") }};
fetch("/late.bin");
</script><img src="/a.svg">"""
ASKS_PORTS = """<!doctype html><title>t</title><p>hi<script src="https://a.test:8443/a.js"></script>
<img src="https://b.test:3000/b.svg"><img src="https://a.test:9/nobody.svg">"""
STREAMS = """<!doctype html><title>t</title><p>hi<script>
new EventSource("/events"); fetch("/poll"); new WebSocket("wss://a.test/other");
</script><img src="/a.svg">"""
WORKS = """<!doctype html><title>t</title><p>hi<script>
new Worker("/w.js");
new Worker(URL.createObjectURL(new Blob(["fetch('https://a.test/blob')"])));
navigator.serviceWorker.register("/sw.js").catch(() => {});
</script><img src="data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg'/%3E">"""


def recorded(url: str, body: str, kind: str = "text/plain", **more: object) -> Recorded:
    return Recorded(url=url, headers=(("content-type", kind), ANY), wire=body.encode(), **more)


def picture(url: str) -> Recorded:
    return recorded(url, "<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml")


def page_of(folder: Path, html: str, *others: Recorded, done: str = "load", **more: object) -> Page:
    document = recorded(URL, html, "text/html")
    made = Recording(
        name="t", url=URL, source="made up", answers=[document, *others], done=done, **more
    )
    return write_page(folder / "t.har.zip", made)


def talking(folder: Path) -> Page:
    """A page that counts as loaded when its socket says so."""
    say = (
        Message(sent=True, at_ms=0, opcode=1, data="hello"),
        Message(sent=False, at_ms=20, opcode=1, data="go"),
        Message(sent=False, at_ms=30, opcode=2, data="AAE="),
    )
    chat = (("sec-websocket-protocol", "chat"),)
    socket = RecordedSocket(url=SOCKET, open_ms=40, headers=chat, messages=say)
    late = recorded(f"{URL}late.bin", "x" * 300_000)
    others = (picture(f"{URL}a.svg"), late)
    return page_of(folder, TALKS, *others, done="mark:told", sockets=(socket,))


def ported(folder: Path) -> Page:
    script = recorded("https://a.test:8443/a.js", "/* */" * 3000, "text/javascript")
    return page_of(folder, ASKS_PORTS, script, picture("https://b.test:3000/b.svg"))


def streaming(folder: Path) -> Page:
    """A page that counts as loaded when the network is idle, as far as that can be."""
    others = (
        picture(f"{URL}a.svg"),
        recorded(f"{URL}events", "data: 1\n\n", "text/event-stream"),
        recorded(f"{URL}poll", "x", think_ms=20_000),
    )
    return page_of(folder, STREAMS, *others)


def working(folder: Path) -> Page:
    others = (
        recorded(f"{URL}w.js", "fetch('/in'); new WebSocket('wss://a.test/w')", "text/javascript"),
        recorded(f"{URL}sw.js", "self.onfetch = () => {}", "text/javascript"),
        recorded(f"{URL}in", "in"),
        recorded(f"{URL}blob", "blob"),
    )
    return page_of(folder, WORKS, *others)


PAGES = {"talking": talking, "ported": ported, "streaming": streaming, "working": working}


@contextmanager
def at(page: Page) -> Iterator[Testbed]:
    (layout,) = layouts([servers(page, "recorded")])
    with testbed.testbed_of([layout]) as bed:
        bed.serve(page, layout)
        yield bed


def visited(bed: Testbed, page: Page, stack: Stack, *modes: str) -> list[Visit]:
    client = Client(timeout_s=20)
    kind = kind_of(stack.browser)
    with ExitStack() as resources:
        settings = kind.settings(stack, bed.addresses, page.spoken)
        browser = resources.enter_context(kind.start(bed, client, stack.protocol, settings, None))
        plans = [plan_of(page, stack, client=client, connection=m) for m in modes or ("first",)]
        return [judged(bed, browser, plan, LENIENT)[0] for plan in plans]


@pytest.mark.parametrize("browser", [TODAY, FIREFOX])
@pytest.mark.parametrize("name", PAGES)
def test_its_loads_count(name, browser, tmp_path):
    page = PAGES[name](tmp_path)
    with at(page) as bed:
        for protocol in ("h1", "h2", "h3"):
            stack = structs.replace(find_stack(protocol), browser=browser)
            (made,) = visited(bed, page, stack)
            assert made.outcome == "loaded", (protocol, made.error)
            assert told(made) == [], protocol


def test_a_socket_is_told_apart_from_requests_and_repeats_too(tmp_path):
    page = talking(tmp_path)
    with at(page) as bed:
        for protocol in ("h2", "h3"):
            for made in visited(bed, page, find_stack(protocol), "first", "repeat"):
                assert told(made) == []
                (seen,), (logged,) = made.sockets, made.served_sockets
                assert (seen.url, seen.status) == (SOCKET, 101)
                assert (logged.url, logged.protocol, logged.recorded) == (SOCKET, "h1", True)
                assert (seen.sent_messages, logged.received_messages) == (1, 1)
                assert seen.received_messages >= 1
                assert not any("push.test" in r.url for r in made.requests)


@pytest.mark.parametrize("browser", [TODAY, FIREFOX])
def test_where_the_stack_has_it_a_socket_uses_the_pages_own_connection(browser, tmp_path):
    """The socket's host is the page's: another host has no connection before."""
    page = streaming(tmp_path)
    stack = structs.replace(find_stack("h2"), browser=browser, websockets="same")
    with at(page) as bed:
        (made,) = visited(bed, page, stack)
    assert told(made) == []
    (logged,) = made.served_sockets
    assert (logged.protocol, logged.status, logged.recorded) == ("h2", 200, False)
    assert logged.connection in {s.connection for s in made.served}


def test_a_recording_has_what_the_server_said_and_not_what_the_page_did(tmp_path):
    with at(talking(tmp_path)) as bed:
        bed.link.passthrough()
        bed.origin.tune(find_stack("h2"))
        recording = record(inside(bed), URL, Client(), settle_ms=500, keep_secrets=False)
    (socket,) = recording.sockets
    chosen = {name.lower(): value for name, value in socket.headers}["sec-websocket-protocol"]
    assert (socket.url, chosen) == (SOCKET, "chat")
    said = [(m.sent, m.opcode, m.data) for m in socket.messages]
    assert (True, 1, "") in said
    assert [m for m in said if not m[0]] == [(False, 1, "go"), (False, 2, "AAE=")]
    assert write_page(tmp_path / "again.har.zip", recording).sockets[0].messages == 2
