"""Checks that early data (TLS 1.3 early data, QUIC 0-RTT) was sent and accepted as the stack
claims.

For every server, the link sees whether a client sent early data. Our origin's log says whether
early data was accepted. For other servers, time tells: without early data, a request reaches the
server a round trip later, after the client's reply to the server's first flight.
"""

from collections.abc import Iterator

from dragstrip.model.family import address_in
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.visit import FarEnd, Reason, Request, Served, Visit
from dragstrip.verdict.request_checks import some

LEAST_RTT_MS = 10.0
"""Least round trip in ms at which early data is judged. A browser takes some milliseconds to send a
request. With a shorter round trip, the handshake may be over by then."""
_CLEAR = 0.5
"""Share of a round trip: if the network may delay early data by more than this, times cannot
decide."""
_FLIGHT_BYTES = 4096
"""Most bytes of a ClientHello with X25519MLKEM768 and a request."""


def early_data(visit: Visit, page: Page, network: Network, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if early data differs from what the stack promises. A first visit must have
    none. On a repeat visit, the first request of each resumed connection must be early data, unless
    the browser made the request too late."""
    sent = {end.address: end for end in _sent(visit)}
    if visit.connection == "first":
        first = [a for a, end in sent.items() if _before_any_ticket(visit, network, end)]
        if first:
            yield Reason(
                "warm", f"a first visit sent early data to {some(first)}, according to the link"
            )
    if page.live or _decides_itself(stack):
        return
    if not stack.early_data:
        if sent:
            yield Reason(
                "stack-drift",
                f"the stack has no early data, but the browser sent some to {some(sent)}, "
                "according to the link",
            )
    elif visit.connection != "first" and network.least_rtt_ms >= LEAST_RTT_MS:
        yield from unused(visit, page, network, stack)


def _sent(visit: Visit) -> Iterator[FarEnd]:
    ends = visit.link.up.far_ends if visit.link else None
    return (end for end in ends or () if end.early_packets)


def _before_any_ticket(visit: Visit, network: Network, end: FarEnd) -> bool:
    """Return whether early data was sent before the visit can have brought a ticket of the host.
    Later connections of a first visit may send early data: a handshake brings tickets, long before
    the first answer if answers are slow."""
    ends = _handshake_ends_ms(visit, end.address) or _least_ends_ms(visit, network, end.address)
    return (
        not ends
        or end.first_early_us is None
        or (end.first_early_us - visit.started_us) / 1000 < min(ends)
    )


def _handshake_ends_ms(visit: Visit, address: str) -> list[float]:
    """Return when whole handshakes with the address ended, by the server's log."""
    return [
        (c.handshake_end_us - visit.started_us) / 1000
        for c in visit.connections
        if c.handshake_end_us and not c.resumed and not c.error
        if (c.address or _address(visit, c.host or "")) == address
    ]


def _least_ends_ms(visit: Visit, network: Network, address: str) -> list[float]:
    """Return when handshakes with the address can have ended at the earliest, by the browser's
    times. If round trips are too short to tell, return when answers came."""
    asked = [r for r in visit.requests if _address(visit, r.host) == address]
    if network.least_rtt_ms < LEAST_RTT_MS:
        return [r.response_start_ms for r in asked if r.response_start_ms is not None]
    starts = (r.connect_start_ms for r in asked)
    return [start + network.least_rtt_ms for start in starts if start is not None]


def _decides_itself(stack: Stack) -> bool:
    return "early_data" in stack.serving.own.get(stack.transport, ())


def unused(visit: Visit, page: Page, network: Network, stack: Stack) -> Iterator[Reason]:
    """Yield reasons for early data that the stack promises but a repeat visit lacked.

    The document waits for its connection. Other hosts' connections may open before there is a
    request; such connections count only if the browser reports that the request did not wait for
    the handshake.
    """
    up = visit.link.up.far_ends if visit.link else None
    looked = any(end.early_packets is not None for end in up or ())
    sent = {end.address for end in _sent(visit)}
    asked = {r.url: r for r in visit.requests if r.connect_start_ms is not None}
    unsent: list[str] = []
    refused: list[str] = []
    unknown: list[str] = []
    for first in _first_requests(visit, page, stack):
        in_haste = first.url == page.url or hurried(asked.get(first.url), network, stack)
        if first.early or first.protocol != stack.protocol or not in_haste:
            continue
        if lost_before(visit, first):
            continue
        if looked and _address(visit, first.host) not in sent:
            unsent.append(first.url)
        elif stack.serving.says_early or _came_late(visit, first, asked, network, stack):
            (refused if looked else unknown).append(first.url)
    for urls, what in (
        (unsent, "the browser sent none"),
        (refused, "the server refused it, or took it only after the handshake,"),
        (unknown, "none was used"),
    ):
        if urls:
            yield Reason(
                "stack-drift",
                f"the stack has early data, but {what} on {len(urls)} resumed connections: "
                + some(urls),
            )


def _first_requests(visit: Visit, page: Page, stack: Stack) -> Iterator[Served]:
    """Yield the first request of each host's first connection, if the connection was resumed or the
    server does not log resumption. For a server without a log, only the document's request is
    known. It comes from the browser, with a time that cannot decide."""
    if "requests" in stack.untold:
        yield from (_unlogged(visit, r) for r in visit.requests if r.url == page.url and r.protocol)
        return
    silent = "handshakes" in stack.untold
    hosts: set[str | None] = set()
    for connection in sorted(visit.connections, key=lambda c: c.t_us):
        if connection.error or not connection.secure or connection.host in hosts:
            continue
        if connection.id in visit.beside_ids:
            continue
        hosts.add(connection.host)
        of_it = (s for s in visit.served if s.connection == connection.id)
        first = min(of_it, key=lambda s: s.t_us, default=None)
        if first is not None and (connection.resumed or silent):
            yield first


def _unlogged(visit: Visit, request: Request) -> Served:
    """Return a minimal log entry for this request, with the earliest possible time."""
    assert request.protocol
    return Served(
        t_us=visit.started_us,
        end_us=0,
        host=request.host,
        method=request.method,
        url=request.url,
        protocol=request.protocol,
        connection=0,
        client_port=0,
        resumed=False,
        early=False,
        status=request.status,
        body_bytes=0,
        match="exact",
    )


def _came_late(
    visit: Visit, first: Served, asked: dict[str, Request], network: Network, stack: Stack
) -> bool:
    """Return whether the request reached the server so late that it may have waited for a
    handshake, and no other cause explains the delay: variable delay, other load, or a wait for a
    CPU at either end."""
    request = asked.get(first.url)
    if request is None or request.connect_start_ms is None:
        return False
    rtts = stack.connect_rtts(repeat=False)
    unsure_ms = (rtts - 0.5) * (_most_rtt_ms(network) - network.least_rtt_ms)
    unsure_ms += network.up.least_ms(_FLIGHT_BYTES)
    if unsure_ms > _CLEAR * network.least_rtt_ms or network.background:
        return False
    if network.up.trace or network.down.trace or network.at or network.up.grant:
        return False
    at_ms = (first.t_us - visit.started_us) / 1000 - request.connect_start_ms
    return at_ms >= rtts * network.least_rtt_ms + network.up.least_delay_ms + _held_up_ms(visit)


def _held_up_ms(visit: Visit) -> float:
    """Return the longest time in ms that browser and server may have waited for a CPU, one after
    the other."""
    host = visit.host
    return (host.browser_wait_ms or 0) + (host.server_wait_ms or 0) if host else 0.0


def _most_rtt_ms(network: Network) -> float:
    return network.up.most_delay_ms + network.down.most_delay_ms


def hurried(request: Request | None, network: Network, stack: Stack) -> bool:
    """Return whether the browser sent the request before a handshake without early data could have
    finished."""
    if request is None or request.connect_start_ms is None or request.send_start_ms is None:
        return False
    rtts = 0.5 if stack.transport == "quic" or stack.fast_open else 1.5
    return request.send_start_ms - request.connect_start_ms < rtts * network.least_rtt_ms


def lost_before(visit: Visit, served: Served) -> bool:
    """Return whether a packet to the server was lost or reordered before the server had this
    request completely."""
    up = visit.link.up if visit.link else None
    if up is None or up.reordered:
        return True
    if up.far_ends is None:  # old capsules do not record whose packets were lost
        return bool(up.dropped)
    address = _address(visit, served.host)
    lost = (e.first_drop_us for e in up.far_ends if e.address == address)
    return any(at_us is not None and at_us < served.t_us for at_us in lost)


def _address(visit: Visit, host: str) -> str:
    return address_in(visit.addresses.get(host, ""))
