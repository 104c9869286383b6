"""Computes the ideal load of a page on a link: a time that no protocol or server can beat."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Request, Visit
from dragstrip.visit.physics import connect_rtts, ended, sent_ms


def ideal_ms(visit: Visit, network: Network, stack: Stack) -> float | None:
    """Return a lower bound of the load time in ms, from wire bytes, rate, round trips and
    dependency depth.

    Every answer has an earliest time (`earliest_rtts`). Bytes whose earliest time is t or later all
    have to be carried after t, at the full rate at best. The bound is the largest sum of t and that
    carrying time, over all t.

    Only requests that ended before the load event count, with the bytes that the browser received.
    Uploads that ended by then give another bound (`sent_ms`). None if the page did not load.
    """
    if visit.plt_ms is None:
        return None
    done = ended(visit)
    connect = connect_rtts(visit, stack)
    bound, size = sent_ms(visit, network, stack), 0
    earliest = earliest_rtts(done, connect, visit.addresses)
    for rtts, request in sorted(zip(earliest, done, strict=True), key=lambda p: p[0], reverse=True):
        size += request.wire_bytes
        bound = max(bound, network.crossed_ms("down", rtts * network.least_rtt_ms, size))
    return bound


def needed_ms(visit: Visit, network: Network, stack: Stack) -> float | None:
    """Return the least time in ms for everything that this load sent, including headers and
    retransmissions: `ideal_ms` plus the additional time that the bottleneck was busy. None if the
    page did not load.

    If the bottleneck also carried other traffic (background traffic, requests after the load), or
    changed during the load, the result is only `ideal_ms`.
    """
    ideal = ideal_ms(visit, network, stack)
    own = not (visit.background or network.at) and len(ended(visit)) == len(visit.requests)
    if ideal is None or visit.link is None or not own:
        return ideal
    bytes_ms = network.down.least_ms(sum(r.wire_bytes for r in visit.requests))
    return ideal + max(0.0, visit.link.down.busy_ms - bytes_ms)


def earliest_rtts(
    requests: Iterable[Request], connect: int, addresses: Mapping[str, str] = MappingProxyType({})
) -> list[int]:
    """Return the fewest round trips until the first byte of each answer can arrive, in the order of
    `requests`.

    The first request needs a connection and a round trip. Any other request is sent once its
    initiator (or else the document) has begun to arrive, and takes a round trip. If the request's
    host does not share the document's address, the request also needs a connection, which cannot
    open before the document begins to arrive. `connect` is `dragstrip.visit.physics.connect_rtts`;
    `addresses` maps hosts to addresses.
    """
    first = connect + 1
    by_url: dict[str, int] = {}
    trips: list[int] = []
    document = ""
    for request in requests:
        if not trips:
            document = addresses.get(request.host, request.host)
            earliest = first
        else:
            earliest = max(first, by_url.get(request.initiator, first)) + 1
            if addresses.get(request.host, request.host) != document:
                earliest = max(earliest, first + connect + 1)
        by_url.setdefault(request.url, earliest)
        trips.append(earliest)
    return trips
