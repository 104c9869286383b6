"""What Chromium 53 says differently, and the pipe to its DevTools."""

import socket
import struct
import subprocess
import sys
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.chromium53 import load as load53
from dragstrip.browsers.devtools_pipe import frame, take
from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.model.stack import Stack, differences
from dragstrip.model.study import Client
from dragstrip.model.visit import Request, Served
from dragstrip.study.presets import find_stack
from dragstrip.testbed.servers import inherit
from dragstrip.visit.server_word import with_server_word

TEXT = 0x1


def from_server(opcode: int, payload: bytes, *, final: bool) -> bytes:
    """An unmasked frame (RFC 6455 section 5.2)."""
    size = len(payload)
    if size < 126:
        head = bytes([size])
    elif size < 1 << 16:
        head = b"\x7e" + struct.pack(">H", size)
    else:
        head = b"\x7f" + struct.pack(">Q", size)
    return bytes([0x80 * final | opcode]) + head + payload


@given(
    st.lists(st.tuples(st.booleans(), st.sampled_from([0, 1, 125, 126, 300, 65_536])), max_size=4),
    st.integers(100, 5000),
)
def test_frames_come_out_whole_however_they_arrive(frames, step):
    sent = [(TEXT, final, bytes([i]) * size) for i, (final, size) in enumerate(frames)]
    wire = b"".join(from_server(o, payload, final=final) for o, final, payload in sent)
    received, got = bytearray(), []
    for at in range(0, len(wire), step):
        received += wire[at : at + step]
        got += take(received)
    assert got == sent
    assert not received


@given(st.sampled_from([0, 1, 125, 126, 65_535, 65_536]))
def test_a_clients_frame_is_masked_and_holds_its_payload(size):
    payload = b"a" * size
    made = frame(TEXT, payload)
    assert made[1] & 0x80
    head = {126: 4, 127: 10}.get(made[1] & 0x7F, 2)
    mask, rest = made[head : head + 4], made[head + 4 :]
    assert any(mask)  # Firefox refuses a mask of zeros
    assert bytes(b ^ mask[i % 4] for i, b in enumerate(rest)) == payload


class Scripted:
    """A scripted browser that answers a navigation with these events."""

    def __init__(self, *events: tuple[str, dict]) -> None:
        self._script = deque([Event(m, p, "")] for m, p in events)
        self.events: deque[Event] = deque()
        self.cdp = self

    def send(self, method: str, **params: object) -> int:
        return 0

    def call(self, method: str, **params: object) -> dict:
        timing = '{"navigationStart":1000,"domContentLoadedEventEnd":1300,"loadEventEnd":1450}'
        return {"result": {"value": timing}}

    def pump(self, deadline: float) -> bool:
        if not self._script:
            return False
        self.events += self._script.popleft()
        return True

    def at_once(self, *events: tuple[str, dict]) -> None:
        """Lets these events arrive last and together, as on a busy machine."""
        self._script.append([Event(m, p, "") for m, p in events])


def asked(number: str, url: str, at_s: float, **more: object) -> tuple[str, dict]:
    request = {"url": url, "method": "GET", "headers": {}}
    return "Network.requestWillBeSent", {
        "requestId": number,
        "request": request,
        "timestamp": at_s,
        "wallTime": at_s + 1.0,
        "type": "Document",
        **more,
    }


def response(status: int, at_s: float) -> dict:
    timing = {"requestTime": at_s, "connectStart": 2, "sendStart": 40, "receiveHeadersEnd": 60}
    return {"status": status, "headers": {}, "protocol": "spdy", "timing": timing}


def test_the_document_is_what_its_redirects_lead_to():
    browser = Scripted(
        asked("1", "https://a.test/", 0.0),
        asked("1", "https://b.test/", 0.1, redirectResponse=response(301, 0.0)),
        ("Network.responseReceived", {"requestId": "1", "response": response(200, 0.1)}),
        ("Page.frameNavigated", {"frame": {}}),
        ("Page.loadEventFired", {"timestamp": 0.4}),
    )
    loaded = load53.load(browser, "https://a.test/", Client())
    assert loaded.outcome == "loaded"
    assert loaded.time_origin_s == 1.0
    assert loaded.navigation.connectStart == pytest.approx(102)
    assert loaded.navigation.responseStart == pytest.approx(160)
    assert loaded.navigation.domContentLoadedEventEnd == 300
    assert loaded.navigation.loadEventEnd == 450
    assert loaded.fcp_ms is None


def test_a_document_that_fails_is_an_outcome_and_an_image_that_fails_is_not():
    failed = ("Network.loadingFailed", {"requestId": "1", "timestamp": 0.1, "errorText": "net::X"})
    loaded = load53.load(Scripted(asked("1", "https://a.test/", 0.0), failed), "", Client())
    assert (loaded.outcome, loaded.error) == ("failed", "net::X")
    image = ("Network.loadingFailed", {"requestId": "2", "timestamp": 0.1, "errorText": "net::X"})
    browser = Scripted(
        asked("1", "https://a.test/", 0.0),
        asked("2", "https://a.test/i.png", 0.0, type="Image"),
        image,
        ("Page.frameNavigated", {"frame": {}}),
        ("Page.loadEventFired", {"timestamp": 0.4}),
    )
    assert load53.load(browser, "", Client()).outcome == "loaded"


def test_the_load_event_of_an_error_page_is_not_the_pages():
    browser = Scripted(asked("1", "https://a.test/", 0.0))
    failed = {"requestId": "1", "timestamp": 0.1, "errorText": "net::X"}
    browser.at_once(
        ("Network.loadingFailed", failed),
        ("Page.frameNavigated", {"frame": {}}),
        ("Page.loadEventFired", {"timestamp": 0.4}),
    )
    loaded = load53.load(browser, "https://a.test/", Client())
    assert (loaded.outcome, loaded.error) == ("failed", "net::X")


def test_a_frame_inside_the_page_is_not_the_page():
    browser = Scripted(
        asked("1", "https://a.test/", 0.0),
        ("Page.frameNavigated", {"frame": {"parentId": "1"}}),
        ("Page.loadEventFired", {"timestamp": 0.4}),
    )
    assert load53.load(browser, "", Client(timeout_s=0)).outcome == "timeout"


def served(url: str, protocol: str) -> Served:
    return Served(
        t_us=0,
        end_us=1,
        host="a.test",
        method="GET",
        url=url,
        protocol=protocol,
        connection=1,
        client_port=1,
        resumed=False,
        early=False,
        status=200,
        body_bytes=1,
        match="exact",
    )


def test_spdy_is_told_from_http2_by_the_server_alone():
    def request(url: str, protocol: str) -> Exchange:
        return Exchange(request=Request(url=url, host="a.test", protocol=protocol, start_ms=0.0))

    seen = [
        request("https://a.test/1#top", "spdy"),
        request("https://a.test/2", "spdy"),
        request("https://a.test/3", "h1"),
        request("https://a.test/4", "spdy"),
    ]
    load = Load(outcome="loaded", sent_s=0.0, time_origin_s=0.0, exchanges=tuple(seen))
    log = [
        served("https://a.test/1", "h2"),
        served("https://a.test/2", "spdy"),
        served("https://a.test/3", "h2"),
    ]
    told = [e.request.protocol for e in with_server_word(load, log).exchanges]
    assert told == ["h2", "spdy", "h1", "spdy"]


def test_a_stack_in_chromium53_asks_for_nothing_it_cannot_have():
    for wish, words in (
        ({"protocol": "h2", "browser": "chromium53"}, "needs tls 1.2"),
        ({"protocol": "spdy", "browser": "chromium53", "tls": "1.2"}, "does not speak spdy"),
        ({"protocol": "spdy"}, "does not speak spdy"),
        ({"protocol": "h3", "browser": "chromium53"}, "does not speak h3"),
        ({"protocol": "h2", "server": "node-spdy", "tls": "1.2"}, "has priorities = False"),
        (
            {"server": "netty", "protocol": "spdy", "browser": "chromium53", "tls": "1.2"}
            | {"priorities": False, "resumption": False},
            "server netty has resumption = True",
        ),
    ):
        with pytest.raises(ValueError, match=words):
            Stack(name="x", **wish)
    spdy, h2 = find_stack("SPDY"), find_stack("h2-chromium53")
    assert [what for what, _, _ in differences(spdy, h2)] == ["protocol"]


_SAYS_MINE = """
import socket, sys
listening = socket.socket(fileno=int(sys.argv[1]))
print("ready", flush=True)
listening.accept()[0].send(b"mine")
"""


def test_a_listener_on_a_single_address_wins_over_the_wildcard():
    with socket.socket() as wildcard:
        wildcard.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        wildcard.bind(("0.0.0.0", 0))
        wildcard.listen()
        port = wildcard.getsockname()[1]
        argv = [sys.executable, "-I", inherit.__file__, str(port), "127.0.0.2", "127.0.0.3", "--"]
        argv += [sys.executable, "-c", _SAYS_MINE, "4"]  # the second of its sockets
        with subprocess.Popen(argv, stdout=subprocess.PIPE) as child:
            assert child.stdout.readline() == b"ready\n"
            with socket.create_connection(("127.0.0.3", port), timeout=20) as client:
                assert client.recv(9) == b"mine"


def document_request(request: str, url: str) -> Event:
    """A request of the tab for a document."""
    params = {"requestId": request, "type": "Document", "frameId": "f", "request": {"url": url}}
    return Event("Network.requestWillBeSent", {**params, "wallTime": 1.0, "timestamp": 1.0}, "")


FAILED = Event(
    "Network.loadingFailed", {"requestId": "2", "errorText": "net::ERR_CONNECTION_RESET"}, ""
)


@pytest.mark.parametrize(
    ("then", "outcome", "documents"),
    [
        ([], "loaded", 1),
        ([document_request("2", "b")], "timeout", 1),
        (
            [document_request("2", "b"), Event("Page.frameNavigated", {"frame": {"url": "b"}}, "")],
            "timeout",
            2,
        ),
        (
            [document_request("2", "b"), Event("Network.loadingFinished", {"requestId": "2"}, "")],
            "loaded",
            1,
        ),
        ([document_request("2", "b"), FAILED], "failed", 1),
    ],
    ids=["stays", "leaves", "arrives", "downloads", "fails"],
)
def test_a_page_that_moves_on_has_not_loaded(then, outcome, documents):
    watch = load53._Watch(object())
    first = [document_request("1", "a"), Event("Page.frameNavigated", {"frame": {"url": "a"}}, "")]
    for event in (*first, Event("Page.loadEventFired", {}, ""), *then):
        watch.sort(event)
    assert watch.ended() == (outcome != "timeout")
    assert (watch.outcome, len(watch.documents)) == (outcome, documents)
