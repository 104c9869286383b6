"""What the wire carried in a visit, from its packets (`dragstrip.results.dissect`).

All `*_ms` count from the navigation's start. Bytes are layer 3. "At the origin" a packet down is
when it came to the link, a packet up when it left it.
"""

from msgspec import Struct

from dragstrip.model.stack import Protocol


class FirstFlight(Struct, frozen=True, kw_only=True):
    """What the origin sent between the first request's arrival and the answer's first
    acknowledgement: one congestion window, before anything was known of the network."""

    packets: int
    bytes: int
    start_ms: float
    duration_ms: float
    """First to last packet."""
    acknowledged_ms: float
    """When the first acknowledgement reached the origin, after `start_ms`; one round trip."""
    gaps_ms: tuple[float, ...]
    """Gaps between one packet and the next."""
    paced: bool
    """Whether the flight, without its longest gap, took more than a tenth of the round trip."""


class Flow(Struct, frozen=True, kw_only=True):
    """One connection: packets with the same addresses and ports."""

    id: str
    """`tcp-N` or `udp-N`, with the number tshark gives it (`tcp.stream`, `udp.stream`)."""
    protocol: Protocol | None
    """None if the packets carry none of the three."""
    host: str | None
    """The name the client asked for (SNI)."""
    client: str
    server: str
    """Address and port."""
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
    """When the first request came to the link."""
    packets_before_request: int | None
    """Packets of both directions before the first request: the handshake."""
    first_flight: FirstFlight | None


class Dissection(Struct, frozen=True, kw_only=True):
    """A visit's capture, dissected."""

    visit: str
    flows: tuple[Flow, ...]
    connections_per_host: dict[str, int]
    """Connections by the name the client asked for; flows without a name are left out."""
    byte_share: dict[str, float]
    """Share of bytes by protocol, or by transport where there is none of the three."""
    packet_share: dict[str, float]
    missed_packets: int
    """Packets the capture had no room for."""
    tool: str
    """What read the packets."""

    @property
    def requests(self) -> int:
        return sum(flow.requests for flow in self.flows)
