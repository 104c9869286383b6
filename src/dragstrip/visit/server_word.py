"""Corrects with the server's log what the browser does not know or what it reports wrongly."""

from collections.abc import Collection, Iterable
from urllib.parse import urldefrag

from msgspec import structs

from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.model.visit import Served


def without_late_stamps(load: Load, served: Iterable[Served], hosts: Collection[str] = ()) -> Load:
    """Return the load without the send times of requests that the server received as early data.
    The browser timestamps these too late, so their send time is unknown.

    `hosts` are hosts to which the link saw early data, although the server's log does not mark it.
    On those hosts, every request that began before the end of the handshake may be early.
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
    """Return the load with SPDY distinguished from HTTP/2 by the server's log.

    Chromium 53's DevTools call both protocols spdy. A request that the server never logged keeps
    that name; `request_checks.agreement` makes it a reason against the visit.
    """
    protocols = {(s.method, s.url): s.protocol for s in served}

    def corrected(exchange: Exchange) -> Exchange:
        request = exchange.request
        if request.protocol != "spdy":
            return exchange
        protocol = protocols.get((request.method, urldefrag(request.url).url), "spdy")
        return structs.replace(exchange, request=structs.replace(request, protocol=protocol))

    return structs.replace(load, exchanges=tuple(corrected(e) for e in load.exchanges))
