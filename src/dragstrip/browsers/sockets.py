"""Turns CDP Network events into WebSockets with times and messages.

Chromium reports WebSockets apart from requests, and their messages uncompressed.
"""

import base64
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, structs

from dragstrip.browsers.cdp import Event
from dragstrip.model.sockets import BINARY, TEXT, Socket
from dragstrip.pages.format.recording import Headers, Message


class SeenSocket(Struct, frozen=True, kw_only=True):
    """A WebSocket, with fields that only a recording needs."""

    socket: Socket
    headers: Headers = ()
    """Headers of the answer that opened the socket."""
    messages: tuple[tuple[float, bool, int, str], ...] = ()
    """Messages, each as (ms since timeOrigin, whether the page sent it, opcode, data as in a page
    file)."""

    def recorded(self) -> tuple[Message, ...]:
        """Return the socket's messages as a page file has them; none if it never opened."""
        opened_ms = self.socket.open_ms
        if opened_ms is None:
            return ()
        return tuple(
            Message(sent=sent, at_ms=max(0.0, at_ms - opened_ms), opcode=opcode, data=data)
            for at_ms, sent, opcode, data in self.messages
        )


def sockets(events: Iterable[Event], time_origin_s: float) -> tuple[SeenSocket, ...]:
    """Return all WebSockets in the order in which the page opened them.

    `time_origin_s` is the document's timeOrigin on the clock of the events' timestamps.
    """
    found: dict[str, SeenSocket] = {}
    latest_ms = 0.0
    for event in events:
        params = event.params
        if "timestamp" in params:
            latest_ms = (params["timestamp"] - time_origin_s) * 1000
        if event.method == "Network.webSocketCreated":
            found[params["requestId"]] = _created(params, latest_ms)
        elif (handler := _HANDLERS.get(event.method)) and params["requestId"] in found:
            current = found[params["requestId"]]
            found[params["requestId"]] = handler(current, params, latest_ms)
    return tuple(found.values())


def _created(params: dict[str, Any], now_ms: float) -> SeenSocket:
    """Return a socket without times. The handshake's event sets them."""
    initiator = params.get("initiator", {})
    frames = initiator.get("stack", {}).get("callFrames", ())
    script = next((f["url"] for f in frames if f.get("url")), "")
    url = params["url"]
    return SeenSocket(
        socket=Socket(
            url=url,
            host=urlsplit(url).hostname or "",
            initiator=initiator.get("url") or script,
            start_ms=now_ms,
        )
    )


def _change(seen: SeenSocket, **changes: Any) -> SeenSocket:
    return structs.replace(seen, socket=structs.replace(seen.socket, **changes))


def _asked(seen: SeenSocket, params: dict[str, Any], now_ms: float) -> SeenSocket:
    return _change(seen, start_ms=now_ms)


def _answered(seen: SeenSocket, params: dict[str, Any], now_ms: float) -> SeenSocket:
    response = params["response"]
    headers = tuple((k, v) for k, v in response.get("headers", {}).items())
    seen = structs.replace(seen, headers=headers)
    return _change(seen, status=response["status"], open_ms=now_ms)


def _failed(seen: SeenSocket, params: dict[str, Any], now_ms: float) -> SeenSocket:
    return _change(seen, error=params["errorMessage"])


def _closed(seen: SeenSocket, params: dict[str, Any], now_ms: float) -> SeenSocket:
    return _change(seen, end_ms=now_ms)


def _sent(seen: SeenSocket, params: dict[str, Any], now_ms: float) -> SeenSocket:
    return _with_message(seen, params["response"], now_ms, sent=True)


def _received(seen: SeenSocket, params: dict[str, Any], now_ms: float) -> SeenSocket:
    return _with_message(seen, params["response"], now_ms, sent=False)


def _with_message(
    seen: SeenSocket, frame: dict[str, Any], now_ms: float, *, sent: bool
) -> SeenSocket:
    opcode, data = int(frame["opcode"]), frame["payloadData"]
    if opcode not in (TEXT, BINARY):
        return seen
    body = data.encode(errors="replace") if opcode == TEXT else base64.b64decode(data)
    said = (now_ms, sent, opcode, body.decode(errors="replace") if opcode == TEXT else data)
    seen = structs.replace(seen, messages=(*seen.messages, said))
    way, socket = "sent" if sent else "received", seen.socket
    return _change(
        seen,
        **{
            f"{way}_messages": getattr(socket, f"{way}_messages") + 1,
            f"{way}_bytes": getattr(socket, f"{way}_bytes") + len(body),
        },
    )


_HANDLERS = {
    "Network.webSocketWillSendHandshakeRequest": _asked,
    "Network.webSocketHandshakeResponseReceived": _answered,
    "Network.webSocketFrameSent": _sent,
    "Network.webSocketFrameReceived": _received,
    "Network.webSocketFrameError": _failed,
    "Network.webSocketClosed": _closed,
}
