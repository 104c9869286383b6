"""Separates WebSockets from requests in a server's log."""

from collections import Counter
from collections.abc import Sequence

from msgspec import structs

from dragstrip.browsers.sockets import SeenSocket
from dragstrip.model.page import Page
from dragstrip.model.sockets import SWITCHED, ServedSocket, socket_url
from dragstrip.model.visit import Served
from dragstrip.testbed.servers.origin import OriginLog

_CONNECT = "CONNECT"
"""Method of a socket over HTTP/2 (RFC 8441 section 4); a page's own requests never have it."""


def with_sockets(log: OriginLog, seen: Sequence[SeenSocket], page: Page) -> OriginLog:
    """Return the log in which every request that opened a WebSocket, or tried to, is moved to the
    log's sockets.

    Our origin marks such requests itself. In another server's log they are requests that got status
    101 or that use CONNECT. Over HTTP/1.1 they may also be GET requests with any status for the URL
    of a socket, but at most as many as the browser or the recording has.
    """
    left = Counter(s.socket.url for s in seen) | Counter(s.url for s in page.sockets)
    left -= Counter(s.url for s in log.sockets)
    taken: dict[int, ServedSocket] = {}
    for place, served in sorted(enumerate(log.requests), key=lambda one: _doubt(one[1])):
        url = _url(served, left)
        asks = served.protocol == "h1" and served.method == "GET" and left[url] > 0
        if served.status == SWITCHED or served.method == _CONNECT or asks:
            left[url] -= 1
            taken[place] = _socket(served, url)
    others = (s for place, s in enumerate(log.requests) if place not in taken)
    sockets = (*log.sockets, *(taken[place] for place in sorted(taken)))
    return structs.replace(log, requests=tuple(others), sockets=sockets)


def _doubt(served: Served) -> int:
    """Return a sort key: 0 for a certain socket, more for a less certain one. A page may also fetch
    the URL of a socket."""
    if served.status == SWITCHED or served.method == _CONNECT:
        return 0
    return 2 if 200 <= served.status < 400 else 1


def _url(served: Served, left: Counter[str]) -> str:
    """Return the socket's URL. Some servers log no path of a CONNECT; then the URL is that of a
    socket on the same host."""
    url = socket_url(served.url)
    if served.method != _CONNECT or left[url] > 0:
        return url
    near = (u for u, n in left.items() if n > 0 and u.startswith(f"wss://{served.host}"))
    return next(near, url)


def _socket(served: Served, url: str) -> ServedSocket:
    return ServedSocket(
        t_us=served.t_us,
        host=served.host,
        url=url,
        protocol=served.protocol,
        connection=served.connection,
        client_port=served.client_port,
        status=served.status,
    )
