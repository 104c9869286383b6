"""Measures how long answers took to begin, and reads the sender's window and losses."""

from collections import Counter
from collections.abc import Iterator

from dragstrip.model.network import Network
from dragstrip.model.visit import Request, Served, Transport, Visit
from dragstrip.visit.uploads import uploads


def known_to_both(visit: Visit) -> Iterator[tuple[Request, Served]]:
    """Yield requests that the browser timed and the server logged, as pairs. Repeated requests are
    left out, because they cannot be matched."""
    asked = Counter((r.method, r.url) for r in visit.requests)
    answered = Counter((s.method, s.url) for s in visit.served)
    served = {(s.method, s.url): s for s in visit.served}
    for request in visit.requests:
        key = request.method, request.url
        timed = request.send_start_ms is not None and request.response_start_ms is not None
        if timed and not request.from_cache and asked[key] == answered[key] == 1:
            yield request, served[key]


def late_stamps(requests: int) -> int:
    """Return how many of `requests` requests a browser may timestamp late. Old browsers do so on
    open connections when they are busy, and Firefox timestamps a request after writing it."""
    return max(requests // 20, 1)


def waits_ms(visit: Visit, network: Network) -> list[float]:
    """Return the time in ms from each request's first byte sent to its answer's first byte, minus a
    round trip: the server's time and queueing. Uploads are left out, because their server waits for
    the body."""
    with_body = {u.url for u in uploads(visit)}
    return [
        max(0.0, r.response_start_ms - r.send_start_ms - network.least_rtt_ms)
        for r in visit.requests
        if r.send_start_ms is not None
        and r.response_start_ms is not None
        and not r.from_cache
        and r.url not in with_body
    ]


def server_ms(visit: Visit) -> list[float]:
    """Return the time in ms from each request's last byte received until its answer was ready,
    according to the server's log."""
    return [
        (s.ready_us - s.received_us) / 1000 for s in visit.served if s.ready_us and s.received_us
    ]


def declared_lost(visit: Visit) -> int | None:
    """Return the number of packets that the origin's transport declared lost; None if no server
    reports it."""
    transports = _transports(visit)
    return sum(t.lost_packets for t in transports) if transports else None


def retransmitted(visit: Visit) -> int | None:
    """Return the number of packets sent again; None over QUIC, which never repeats a packet, and if
    no server reports it."""
    counts = [t.retransmitted_packets for t in _transports(visit)]
    known = [n for n in counts if n is not None]
    return sum(known) if known else None


def window_bytes(visit: Visit) -> int | None:
    """Return the congestion window in bytes of the connection that sent most, as it was at the
    connection's end; None if no server reports it."""
    busiest = max(_transports(visit), key=lambda t: t.sent_bytes, default=None)
    return busiest.window_packets * busiest.packet_bytes or None if busiest else None


def _transports(visit: Visit) -> list[Transport]:
    return [c.transport for c in visit.connections if c.transport]
