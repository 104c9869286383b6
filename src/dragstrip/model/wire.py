"""Traffic of a visit, dissected from its packets (`dragstrip.results.dissect`).

All `*_ms` count from the navigation's start. Bytes are layer 3. Times are those at the origin's end
of the link: a downstream packet counts when it reached the link, an upstream packet when it left
the link.
"""

from msgspec import Struct

from dragstrip.model.stack import Protocol


class FirstFlight(Struct, frozen=True, kw_only=True):
    """Packets that the origin sent between the first request's arrival and the first
    acknowledgement of the answer: one congestion window, sent before the origin knew the
    network."""

    packets: int
    bytes: int
    start_ms: float
    duration_ms: float
    """Time from the first to the last packet."""
    acknowledged_ms: float
    """Time from `start_ms` to the first acknowledgement's arrival at the origin: one round trip."""
    gaps_ms: tuple[float, ...]
    """Times between consecutive packets."""
    paced: bool
    """Whether the flight is paced: without its longest gap, it took more than a tenth of the round
    trip."""


class UnvalidatedTraffic(Struct, frozen=True, kw_only=True):
    """What a QUIC server sent to a client before it knew that the client is where it says it is.
    Until then it may send three times what it received (RFC 9000 section 8.1). Bytes are payloads
    of UDP."""

    received_bytes: int
    sent_bytes: int
    most_times: float
    """Greatest quotient of bytes sent and bytes received, after any packet."""
    retried: bool
    """Whether the server sent a Retry packet."""
    by_token: bool
    """Whether the client showed a token, of a Retry packet or of an earlier connection. It
    validates its address at once."""


class Flow(Struct, frozen=True, kw_only=True):
    """One connection: packets with the same addresses and ports."""

    id: str
    """The flow's number in tshark, as `tcp-N` or `udp-N` (`tcp.stream`, `udp.stream`)."""
    protocol: Protocol | None
    """Protocol of the flow; None if it is not HTTP/1.1, HTTP/2 or HTTP/3."""
    host: str | None
    """The name that the client asked for (SNI); None if it sent none."""
    client: str
    server: str
    """Address and port of the server."""
    start_ms: float
    end_ms: float
    packets_up: int
    packets_down: int
    bytes_up: int
    bytes_down: int
    link_drops: int
    """Packets that reached the link and never left it."""
    retransmitted: int | None
    """Segments that repeat what was sent before; None over QUIC, which never repeats a packet."""
    requests: int
    first_request_ms: float | None
    """When the first request reached the link; None if there was none."""
    packets_before_request: int | None
    """Packets of both directions before the first request: the handshake."""
    first_flight: FirstFlight | None
    unvalidated: UnvalidatedTraffic | None = None
    """None over TCP, and in results older than the field."""


class Dissection(Struct, frozen=True, kw_only=True):
    """A visit's capture, dissected."""

    visit: str
    flows: tuple[Flow, ...]
    connections_per_host: dict[str, int]
    """Number of connections by the name the client asked for; flows without a name are left out."""
    byte_share: dict[str, float]
    """Share of bytes by protocol, or by transport for flows without a known protocol."""
    packet_share: dict[str, float]
    missed_packets: int
    """Packets missing from the capture because it was full."""
    tool: str
    """Name and version of the program that dissected the packets."""

    @property
    def requests(self) -> int:
        return sum(flow.requests for flow in self.flows)
