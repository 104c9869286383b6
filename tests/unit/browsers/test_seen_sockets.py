"""What browsers report of WebSockets, in DevTools and in WebDriver BiDi."""

from typing import Any

import pytest

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.exchanges import exchanges
from dragstrip.browsers.firefox.exchanges import exchanges as bidi_exchanges
from dragstrip.browsers.firefox.sockets import sockets as bidi_sockets
from dragstrip.browsers.sockets import sockets
from dragstrip.pages.format.recording import Message

URL = "wss://a.test/live"


def cdp(method: str, **params: Any) -> Event:
    return Event(f"Network.{method}", {"requestId": "7", **params}, "session")


def said(method: str, at_s: float, opcode: int, data: str) -> Event:
    return cdp(method, timestamp=at_s, response={"opcode": opcode, "payloadData": data})


BY_SCRIPT = {"stack": {"callFrames": [{"url": "https://a.test/a.js"}]}}
ANSWER = {"status": 101, "headers": {"Sec-WebSocket-Protocol": "chat"}}
OPENED = (
    cdp("webSocketCreated", url=URL, initiator=BY_SCRIPT),
    cdp("webSocketWillSendHandshakeRequest", timestamp=100.1, wallTime=1.0, request={}),
    cdp("webSocketHandshakeResponseReceived", timestamp=100.2, response=ANSWER),
)


def test_a_socket_has_its_times_its_messages_and_no_request():
    events = [
        *OPENED,
        said("webSocketFrameSent", 100.25, 1, "héllo"),
        said("webSocketFrameReceived", 100.3, 2, "AAE="),
        said("webSocketFrameReceived", 100.35, 9, ""),
        cdp("webSocketClosed", timestamp=101.0),
    ]
    (seen,) = sockets(events, 100.0)
    socket = seen.socket
    assert (socket.url, socket.host, socket.status) == (URL, "a.test", 101)
    assert socket.initiator == "https://a.test/a.js"
    times = (socket.start_ms, socket.open_ms, socket.end_ms)
    assert times == pytest.approx((100, 200, 1000))
    assert (socket.sent_messages, socket.sent_bytes) == (1, 6)
    assert (socket.received_messages, socket.received_bytes) == (1, 2)
    assert [(m.sent, m.opcode, m.data) for m in seen.recorded()] == [
        (True, 1, "héllo"),
        (False, 2, "AAE="),
    ]
    assert [m.at_ms for m in seen.recorded()] == pytest.approx([50, 100])
    assert seen.headers == (("Sec-WebSocket-Protocol", "chat"),)
    assert exchanges(events, 100.0) == ()


def test_a_socket_that_was_refused_says_why_and_has_no_messages():
    events = [*OPENED[:2], cdp("webSocketFrameError", timestamp=100.2, errorMessage="code: 404")]
    (seen,) = sockets(events, 100.0)
    assert (seen.socket.error, seen.socket.open_ms) == ("code: 404", None)
    assert seen.recorded() == ()


def test_text_that_is_not_unicode_is_no_error():
    (seen,) = sockets([*OPENED, said("webSocketFrameReceived", 100.3, 1, "\ud800")], 100.0)
    assert seen.recorded() == (Message(sent=False, at_ms=pytest.approx(100.0), opcode=1, data="?"),)


def bidi(method: str, at_ms: float, **more: Any) -> Event:
    key = {"name": "Sec-WebSocket-Key", "value": {"type": "string", "value": "x"}}
    request = {
        "request": "7-0",
        "url": "https://a.test/live",
        "method": "GET",
        "headers": [key],
        "timings": {"requestTime": 1_100.0},
    }
    params = {"request": request, "redirectCount": 0, "timestamp": 1_000 + at_ms, **more}
    return Event(f"network.{method}", params, "")


@pytest.mark.parametrize("status", [101, 200])  # over HTTP/1.1, over HTTP/2
def test_firefox_reports_a_socket_as_a_request_for_an_https_url(status):
    events = [
        bidi("beforeRequestSent", 101),
        bidi("responseStarted", 150, response={"status": status}),
        bidi("responseCompleted", 160, response={"status": status}),
    ]
    (seen,) = bidi_sockets(events, 1_000.0)
    socket = seen.socket
    assert (socket.url, socket.status) == (URL, status)
    assert (socket.start_ms, socket.open_ms, socket.end_ms) == (100, 150, None)
    assert bidi_exchanges(events, 1_000.0) == ()


def test_firefox_reports_a_refused_socket():
    refused = bidi("responseCompleted", 160, response={"status": 404})
    failed = bidi("fetchError", 160, errorText="NS_ERROR_CONNECTION_REFUSED")
    for end, status, error in ((refused, 404, ""), (failed, 0, "NS_ERROR_CONNECTION_REFUSED")):
        (seen,) = bidi_sockets([bidi("beforeRequestSent", 101), end], 1_000.0)
        assert (seen.socket.status, seen.socket.error) == (status, error)
        assert seen.socket.open_ms is None
