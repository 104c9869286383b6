"""A stack: protocol, transport tuning, TLS and server, as one hashed object."""

import hashlib
from typing import Literal

import msgspec
from msgspec import Struct

Protocol = Literal["h1", "h2", "h3"]
"""The protocol a request really used, as both browser and origin name it in our records."""

Congestion = Literal["cubic", "reno", "bbr"]


class Stack(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What serves and carries a page. Two stacks with the same fingerprint are the same stack."""

    name: str
    protocol: Protocol
    congestion: Congestion = "cubic"
    """Congestion control of the origin's sending side (kernel TCP or the QUIC library)."""
    initial_window_packets: int = 10
    """Initial congestion window in full-sized packets of 1448 bytes (RFC 6928 for TCP)."""
    tls: Literal["1.3"] = "1.3"
    server: Literal["dragstrip-origin"] = "dragstrip-origin"
    source: str = ""

    @property
    def transport(self) -> Literal["tcp", "quic"]:
        return "quic" if self.protocol == "h3" else "tcp"

    @property
    def fingerprint(self) -> str:
        """First 12 hex digits of SHA-256 over everything but name and source."""
        fields = {k: v for k, v in msgspec.to_builtins(self).items() if k not in ("name", "source")}
        return hashlib.sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()[:12]

    def describe(self) -> str:
        return (
            f"{self.protocol} over {self.transport.upper()}, {self.congestion}, initial window "
            f"{self.initial_window_packets} packets, TLS {self.tls}, {self.server}"
        )
