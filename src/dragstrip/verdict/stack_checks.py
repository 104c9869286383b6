"""Checks that handshakes and transport settings were as the stack claims."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection, Reason, Served, Transport, Visit
from dragstrip.verdict.early_checks import LEAST_RTT_MS
from dragstrip.verdict.request_checks import some

_LEAST_PAYLOAD = 1200
"""Least payload in bytes of a full QUIC packet (RFC 9000 section 14)."""
_LEAST_STEP, _SEARCHED = 20, 300
"""Least difference in bytes between two sizes that the origin tries, and the number of packets
after which the first larger size was acknowledged: they take five round trips from a window of
10."""
_SMALL_RECORD = 1369
"""Size in bytes of the first records of a connection whose records grow (tcp/records.rs of the
origin)."""
_FRAME = 16384
"""The chunk size in bytes in which the origin passes answers to TLS. Answers longer than a chunk
fill a record."""
_LEFT_ROOM = 256
"""Room in bytes: a record with less room left counts as full (tcp/http2.rs of the origin)."""
_MANY = 10
"""Number of requests after which a client has used QPACK's dynamic table, if it knows of the table
and can use it."""
_ROUNDS = 4
"""Round trips after which a client knows the origin's settings: three for a handshake and its
settings, one more if the settings were lost."""
_GROWN = 16 * _FRAME
"""Length in bytes from which an answer uses larger records than those at the start."""


def handshakes(visit: Visit, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if, by the origin's log, a first visit resumed a session or a repeat visit did
    not.

    Only a host's first connection counts. Later connections may resume its session, and tickets may
    run out when many connections open at once. In a first visit, that is the connection whose
    handshake ended first, because only a handshake brings a session: a spare connection may have
    been accepted earlier and resume later. In a repeat visit, it is the connection accepted first,
    because the browser has sessions from before.
    """
    if "handshakes" in stack.untold:
        return
    yield from _left_open(visit)
    first_of_host = _first_of_hosts(visit, _handshake_end_us)
    resumed = [str(host) for host, c in first_of_host.items() if c.resumed]
    accepted_first = _first_of_hosts(visit, lambda c: c.t_us)
    again = {*resumed, *(str(host) for host, c in accepted_first.items() if c.resumed)}
    if "idle" in stack.untold:  # its log does not show which connection of a host was the first
        again |= {str(c.host) for c in visit.connections if c.resumed}
        fresh = {str(c.host) for c in visit.connections if not c.resumed}
        resumed = [host for host in resumed if host not in fresh]
    early = [s for s in visit.served if s.early]
    if visit.connection == "first":
        if resumed:
            yield Reason("warm", "a first visit resumed a TLS session with " + some(resumed))
        if _before_resuming(early, first_of_host.values()):
            yield Reason("warm", "a first visit sent early data: " + some(s.url for s in early))
    elif stack.resumption:
        known = first_of_host if visit.primed is None else visit.primed
        cold = [
            str(host)
            for host, c in first_of_host.items()
            if host in known and str(host) not in again and _met(visit, c)
        ]
        # A spare connection may have used up a host's only ticket. A log that has only requests
        # does not show it.
        if cold and not ("idle" in stack.untold and again):
            yield Reason("stack-drift", "a repeat visit resumed no TLS session with " + some(cold))
    elif resumed:
        yield Reason(
            "stack-drift", "the stack has no resumption, but resumed with " + some(resumed)
        )
    if not stack.early_data and early:
        yield Reason(
            "stack-drift",
            "the stack has no early data, but accepted some: " + some(s.url for s in early),
        )


def _first_of_hosts(
    visit: Visit, when: Callable[[Connection], int]
) -> dict[str | None, Connection]:
    """Return the first connection, ordered by `when`, of each host that was requested over TLS."""
    firsts: dict[str | None, Connection] = {}
    for connection in sorted(visit.connections, key=when):
        if not connection.error and connection.secure and connection.id not in visit.beside_ids:
            firsts.setdefault(connection.host, connection)
    return firsts


def _handshake_end_us(connection: Connection) -> int:
    """Return when the handshake ended, or when the connection was accepted if the server does not
    report the end."""
    return connection.handshake_end_us or connection.t_us


def _met(visit: Visit, connection: Connection) -> bool:
    """Return whether the load before a repeat visit can have brought a ticket for this connection.
    Tickets of TCP and QUIC are separate, and a browser that discovers HTTP/3 may have used only
    TCP."""
    over_quic = connection.protocol == "h3"
    return not over_quic or visit.primed_quic is None or connection.host in visit.primed_quic


def _before_resuming(early: Iterable[Served], first: Iterable[Connection]) -> bool:
    first_ids = {c.id for c in first}
    return any(s.connection in first_ids for s in early)


def _left_open(visit: Visit) -> Iterator[Reason]:
    """Yield reasons for requests over a connection that was opened before the visit."""
    opened = {c.id for c in visit.connections}
    before = [s.url for s in visit.served if s.connection not in opened]
    if before:
        yield Reason(
            "warm" if visit.connection == "first" else "stack-drift",
            f"{len(before)} requests came over connections from before the visit: {some(before)}",
        )


def transport(visit: Visit, network: Network, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if the sending side of a connection has other settings than the stack's,
    according to the origin's kernel or QUIC library."""
    yield from _other_control(visit, stack)
    if "transport" in stack.untold:
        return
    connections = [c for c in visit.connections if not c.error and not _beside(visit, c, stack)]
    silent = sum(c.transport is None for c in connections)
    if silent:
        yield Reason(
            "stack-drift", f"{silent} of {len(connections)} connections report no transport state"
        )
    longest: dict[int, int] = {}
    informed = _informed(visit, network)
    for served in visit.served:
        if served.end_us:
            longest[served.connection] = max(longest.get(served.connection, 0), served.body_bytes)
    lies = Counter(
        lie
        for c in connections
        if c.transport
        for lie in (
            *_lies(c, c.transport, stack),
            *_size_lies(c, c.transport, network, stack),
            *_record_lies(c.transport, stack, longest.get(c.id, 0)),
            *_table_lies(c.transport, stack, informed[c.id]),
            *_offer_lies(c.transport, stack),
        )
    )
    for lie, times in lies.items():
        yield Reason("stack-drift", f"{lie} ({times} of {len(connections)} connections)")


def _beside(visit: Visit, connection: Connection, stack: Stack) -> bool:
    """Return whether the connection is TCP and carried a WebSocket beside a QUIC stack, which has
    no settings for TCP."""
    over_tcp = connection.protocol != stack.protocol and stack.transport == "quic"
    return over_tcp and connection.id in visit.beside_ids


def _other_control(visit: Visit, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if the kernel reports another congestion control than the stack's. A server may
    override the kernel's setting for its sockets (TCP_CONGESTION)."""
    if stack.transport == "tcp" and (other := set(visit.congestion) - {stack.congestion}):
        yield Reason(
            "stack-drift",
            f"congestion control is {', '.join(sorted(other))} according to the kernel, not "
            f"{stack.congestion}",
        )


def _lies(connection: Connection, got: Transport, stack: Stack) -> Iterator[str]:
    if got.congestion != stack.congestion:
        yield f"congestion control is {got.congestion}, not {stack.congestion}"
    # A lost handshake packet rightly shrinks the first window (RFC 5681 section 3.1).
    if got.initial_window_packets != stack.initial_window_packets and not (
        got.initial_window_packets == 1 and got.retransmitted_packets
    ):
        yield (
            f"the initial window is {got.initial_window_packets} packets, not "
            f"{stack.initial_window_packets}"
        )
    sent, asked = connection.certificate_bytes, stack.certificate_bytes
    if asked and sent is not None and sent < asked:
        yield f"the certificate chain has {sent} bytes, not {asked}"
    if got.paced != stack.paced:
        yield "packets are paced, but should not be" if got.paced else "packets are not paced"
    # Old capsules do not have the rule, and some kernels hide CUBIC's settings.
    if got.slow_start_exit not in (None, stack.slow_start_exit):
        yield f"the slow-start exit is {got.slow_start_exit}, not {stack.slow_start_exit}"
    if connection.protocol != "h3":
        return
    if stack.ack_every_packets and not got.ack_frequency_frames:
        yield "the browser ignores requests to acknowledge less often"


def _size_lies(
    connection: Connection, got: Transport, network: Network, stack: Stack
) -> Iterator[str]:
    """Yield faults in the size of UDP payloads.

    After losses of full packets a sender may suspect a black hole, and then falls back to the
    least size (RFC 8899 section 4.3). A sender that searches ends where the path ends.
    """
    if connection.protocol != "h3":
        return
    fell_back = got.packet_bytes == _LEAST_PAYLOAD and got.lost_packets
    least, most = stack.udp_start_bytes or stack.udp_payload_bytes, stack.udp_payload_bytes
    if not (fell_back or least <= got.packet_bytes <= most):
        asked = str(most) if least == most else f"{least} to {most}"
        yield f"UDP payloads have {got.packet_bytes} bytes, not {asked}"
    wide = not (network.down.mtu or network.chance or got.lost_packets)
    searched = got.sent_packets >= _SEARCHED and most - least >= _LEAST_STEP
    if wide and searched and got.packet_bytes == least:
        yield f"UDP payloads still have {least} bytes: nothing searched for larger ones"


def _informed(visit: Visit, network: Network) -> Counter[int]:
    """Return the number of requests, by connection, sent so late that the client knew the origin's
    settings, even if these were lost once. Requests sent together with the first request may not
    know them."""
    accepted = {c.id: c.t_us for c in visit.connections}
    patience_us = _ROUNDS * max(network.longest_rtt_ms, LEAST_RTT_MS) * 1000
    return Counter(
        served.connection
        for served in visit.served
        if served.t_us > accepted.get(served.connection, served.t_us) + patience_us
    )


def _table_lies(got: Transport, stack: Stack, informed: int) -> Iterator[str]:
    if got.qpack_request_entries is None or got.qpack_answer_entries is None:
        return
    if not stack.qpack_table_bytes and got.qpack_request_entries + got.qpack_answer_entries:
        yield "QPACK's dynamic table was used, but not offered"
    if stack.qpack_table_bytes and informed >= _MANY and not got.qpack_request_entries:
        yield "the browser makes no use of QPACK's dynamic table"


def _offer_lies(got: Transport, stack: Stack) -> Iterator[str]:
    """Yield faults in what the origin allowed the client to send, and in what the kernel may
    hold."""
    if got.unsent_bytes is not None and got.unsent_bytes != stack.unsent_bytes:
        yield f"the kernel holds {got.unsent_bytes} bytes unsent, not {stack.unsent_bytes}"
    if got.offer is None:
        return
    for what, told, asked in (
        ("the flow-control window is {} bytes", got.offer.window_bytes, stack.flow_window_bytes),
        ("a stream's window is {} bytes", got.offer.stream_window_bytes, stack.flow_window_bytes),
        ("the client may open {} requests at once", got.offer.streams, stack.streams_at_once),
    ):
        if told != asked:
            yield f"{what.format('any number of' if told is None else told)}, not {asked}"
    if got.offer.migration not in (None, stack.migration):
        may = "may" if got.offer.migration else "may not"
        yield f"the client {may} change its address, and the stack says otherwise"
    asked_s, theirs = stack.idle_timeout_s, got.client_offer
    if asked_s and theirs and theirs.idle_ms not in (None, asked_s * 1000):
        yield f"the client closes idle connections after {theirs.idle_ms} ms, not {asked_s} s"


def _least_record(record: int, longest: int) -> int:
    """Return the fewest bytes that the largest record must have if `record` bytes are allowed."""
    if longest >= _GROWN:
        return record - _LEFT_ROOM
    return record // 2 if longest >= 2 * _FRAME else 0


def _record_lies(got: Transport, stack: Stack, longest: int) -> Iterator[str]:
    """Yield faults in the sizes of TLS records. `longest` is the largest body in bytes that the
    connection sent completely. Short answers get their own records, so only a long answer shows how
    large records become. Over HTTP/2, a record ends where no further frame fits, and records with
    headers are smaller still. So a body of a few records need not fill any record."""
    early, largest = got.tls_early_record_bytes, got.tls_largest_record_bytes
    if early is None or largest is None or stack.record is None:
        return
    if stack.record == "dynamic":
        if early > _SMALL_RECORD:
            yield f"the first TLS records have {early} bytes, not {_SMALL_RECORD}"
        if longest >= _GROWN and largest <= _SMALL_RECORD:
            yield f"TLS records do not grow: the largest has {largest} bytes"
    elif largest > stack.record or largest < _least_record(stack.record, longest):
        yield f"the largest TLS record has {largest} bytes, not {stack.record}"
