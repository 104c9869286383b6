"""Replaces what the browser does not know, or gets wrong, by the server's log."""

from collections.abc import Collection, Iterable
from urllib.parse import urldefrag

from msgspec import structs

from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.model.visit import Served


def without_late_stamps(load: Load, served: Iterable[Served], hosts: Collection[str] = ()) -> Load:
    """The load of a browser that timestamps early data late: requests that the server received as
    early data get no send time, because it is unknown.

    `hosts` are those to which the link saw early data and whose log does not name it: there, any
    request may be early that began before the handshake ended.
    """
    early = {(s.method, s.url) for s in served if s.early}
    shaken: dict[str, float] = {}
    for exchange in load.exchanges:
        if (end_ms := exchange.request.connect_end_ms) is not None:
            host = exchange.request.host
            shaken[host] = max(end_ms, shaken.get(host, end_ms))

    def corrected(exchange: Exchange) -> Exchange:
        request = exchange.request
        known = (request.method, urldefrag(request.url).url) in early
        ended_ms = shaken.get(request.host) if request.host in hosts else None
        if not known and (ended_ms is None or request.start_ms >= ended_ms):
            return exchange
        return structs.replace(exchange, request=structs.replace(request, send_start_ms=None))

    return structs.replace(load, exchanges=tuple(corrected(e) for e in load.exchanges))


def with_server_word(load: Load, served: Iterable[Served]) -> Load:
    """The load with SPDY distinguished from HTTP/2 by the server's log.

    DevTools of Chromium 53 call both spdy. What the server never logged keeps that name, and is a
    reason against the visit elsewhere (`request_checks.agreement`).
    """
    protocols = {(s.method, s.url): s.protocol for s in served}

    def corrected(exchange: Exchange) -> Exchange:
        request = exchange.request
        if request.protocol != "spdy":
            return exchange
        protocol = protocols.get((request.method, urldefrag(request.url).url), "spdy")
        return structs.replace(exchange, request=structs.replace(request, protocol=protocol))

    return structs.replace(load, exchanges=tuple(corrected(e) for e in load.exchanges))
