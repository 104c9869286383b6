"""Background load: other traffic on the same link during a visit."""

from typing import Literal

from msgspec import Struct

from dragstrip.model.stack import Congestion, exists_over
from dragstrip.model.units import plain


class Background(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Flows that share queue and rate with the page. Each runs between the client and the origin's
    end of the link."""

    direction: Literal["down", "up"] = "down"
    kind: Literal["tcp", "quic", "udp"] = "tcp"
    """Bulk TCP and QUIC take all the rate they can get; UDP has a constant rate."""
    flows: int = 1
    congestion: Congestion = "cubic"
    """Congestion control of bulk TCP, or of our origin's QUIC. The packets of `prague` are ECT(1)
    (L4S); others have no ECN over QUIC, and the stack's over TCP."""
    rate_mbps: float | None = None
    """Rate of each UDP flow in Mbit/s of IP bytes, sent as packets of 1500 bytes."""
    lead_ms: float = 3000.0
    """Time in ms that the load has been running when a visit begins."""

    def __post_init__(self) -> None:
        if not 1 <= self.flows <= 100:
            raise ValueError("flows must be a number from 1 to 100")
        if (self.kind == "udp") != (self.rate_mbps is not None):
            raise ValueError("rate_mbps is required for udp, and only allowed there")
        if self.kind == "quic" and self.direction == "up":
            raise ValueError("quic is the origin's: it has no direction up")
        if self.kind != "udp" and not exists_over(self.congestion, self.kind):
            other = "quic" if self.kind == "tcp" else "tcp"
            raise ValueError(
                f'congestion {self.congestion} does not exist for {self.kind}: use kind = "{other}"'
            )
        if self.rate_mbps is not None and self.rate_mbps <= 0:
            raise ValueError("rate_mbps must be above zero")
        if self.lead_ms < 0:
            raise ValueError("lead_ms must not be negative")

    def describe(self) -> str:
        flows = f"{self.flows} flow{'s' if self.flows > 1 else ''}"
        what = (
            f"bulk {self.kind.upper()}, {self.congestion}"
            if self.rate_mbps is None
            else f"UDP at {plain(self.rate_mbps)} Mbit/s each"
        )
        return f"{flows} of {what}, {self.direction}"


class BackgroundReport(Struct, frozen=True, kw_only=True):
    """The traffic of a background load, as its sender counted it."""

    load: Background
    seconds: float
    sent_bytes: int
    """Payload in bytes that was handed to the network, without retransmissions; of QUIC, that of
    its packets, with retransmissions."""
