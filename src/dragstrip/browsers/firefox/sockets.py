"""Turns network events of WebDriver BiDi (W3C) into WebSockets.

Firefox reports a WebSocket as a request for an https URL that ends when the socket opens. It
reports neither messages nor the close.
"""

from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.sockets import SeenSocket
from dragstrip.model.sockets import SWITCHED, Socket, socket_url

_KEY = "sec-websocket-key"
_OPENED = (SWITCHED, 200)
"""Statuses that open a WebSocket; over HTTP/2 it is 200 (RFC 8441 section 5)."""


def is_socket(params: dict[str, Any]) -> bool:
    """Return whether the event belongs to a WebSocket, by its request's headers."""
    return any(h["name"].lower() == _KEY for h in params["request"]["headers"])


def sockets(events: Iterable[Event], time_origin_ms: float) -> tuple[SeenSocket, ...]:
    """Return all WebSockets in the order in which the page opened them."""
    found: dict[str, Socket] = {}
    for event in events:
        params = event.params
        if not (event.method.startswith("network.") and is_socket(params)):
            continue
        asked = params["request"]
        now_ms = params["timestamp"] - time_origin_ms
        if event.method == "network.beforeRequestSent":
            url = socket_url(asked["url"])
            start_ms = asked["timings"]["requestTime"] - time_origin_ms
            host = urlsplit(url).hostname or ""
            found[asked["request"]] = Socket(url=url, host=host, start_ms=start_ms)
        elif current := found.get(asked["request"]):
            found[asked["request"]] = _told(current, event.method, params, now_ms)
    return tuple(SeenSocket(socket=socket) for socket in found.values())


def _told(current: Socket, method: str, params: dict[str, Any], now_ms: float) -> Socket:
    if method == "network.fetchError":
        return structs.replace(current, error=params["errorText"], end_ms=now_ms)
    status = params["response"]["status"]
    if status in _OPENED and current.open_ms is None:
        return structs.replace(current, status=status, open_ms=now_ms)
    return structs.replace(current, status=status)
