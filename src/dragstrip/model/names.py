"""How a client's names are resolved: at once, or by a resolver behind its own path."""

import random
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Literal

from msgspec import Struct, structs

from dragstrip.model.effects import Direction
from dragstrip.model.units import plain, require_shares

Transport = Literal["udp", "doh", "none"]
"""How a client asks its resolver: by UDP (RFC 1035), by HTTPS (RFC 8484), or not at all."""
AT_ONCE = "names resolve at once, without a resolver"
NOWHERE = "2001:db8::/32"
"""Addresses at which nothing answers (RFC 3849). Browsers prefer them to IPv4, as they do any
global IPv6 address; they rank unique local ones behind IPv4 (RFC 6724 section 2.1)."""


def nowhere(address: str) -> str:
    """Return the IPv6 address of a name that has this IPv4 address, where IPv6 is broken:
    ``2001:db8::a40:101`` for ``10.64.1.1``."""
    start = ip_address(NOWHERE.partition("/")[0])
    return str(start + int(ip_address(address)))


class Dns(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A resolver, and the path to it. The path is not the page's: queries wait in no queue of the
    network."""

    delay_ms: float = 0.0
    """Delay of the path to the resolver in ms, one way. A look-up takes twice as long."""
    loss: float = 0.0
    """Share of packets that the path loses, each way."""
    upstream_ms: float = 0.0
    """Time in ms that the resolver needs for a name that it does not know yet."""
    misses: float = 1.0
    """Share of names that it does not know yet. The block's seed decides which."""
    ttl_s: int = 300
    """Seconds that client and resolver may keep an answer."""
    transport: Transport = "udp"
    """UDP (RFC 1035), HTTPS (RFC 8484), or none: names resolve at once."""
    broken_ipv6: bool = False
    """Names have an IPv6 address as well, at which nothing answers: packets to it cross the
    network's link and end behind it. Browsers try it first, and then fall back (Happy Eyeballs, RFC
    8305)."""

    def __post_init__(self) -> None:
        require_shares(self, "loss", "misses")
        for name in ("delay_ms", "upstream_ms"):
            if not 0 <= getattr(self, name) <= _MOST_MS:
                raise ValueError(f"{name} must be between 0 and {plain(_MOST_MS)} ms")
        if not 1 <= self.ttl_s <= _MOST_TTL_S:
            raise ValueError(f"ttl_s must be between 1 and {_MOST_TTL_S}")
        if self.loss == 1:
            raise ValueError("loss must be below 1: else no name is ever found")
        if self.misses != 1 and not self.upstream_ms:
            raise ValueError("misses is the share of names that take upstream_ms: give that too")
        others = [f for f in structs.fields(self) if f.name != "transport"]
        given = any(getattr(self, f.name) != f.default for f in others)
        if self.transport == "none" and given:
            raise ValueError('transport = "none" asks no resolver: omit the other keys')

    @property
    def rtt_ms(self) -> float:
        """Round trip to the resolver."""
        return 2 * self.delay_ms

    @property
    def way(self) -> Direction:
        """Each way of the path to the resolver."""
        return Direction(delay_ms=self.delay_ms, loss=self.loss)

    def unknown(self, hosts: Iterable[str], seed: int) -> frozenset[str]:
        """The hosts that the resolver does not know yet in a block with this seed."""
        if not self.upstream_ms:
            return frozenset()
        draws = ((host, random.Random(f"{seed}:name:{host}").random()) for host in hosts)
        return frozenset(host for host, draw in draws if draw < self.misses)

    def describe(self) -> str:
        if self.transport == "none":
            return AT_ONCE
        way = "by HTTPS" if self.transport == "doh" else "by UDP"
        said = f"names {way} from a resolver {plain(self.rtt_ms)} ms away (round trip)"
        said += f", loss {plain(self.loss * 100)} % each way" if self.loss else ""
        if self.upstream_ms:
            share = "" if self.misses == 1 else f" {plain(self.misses * 100)} % of"
            said += f", which needs {plain(self.upstream_ms)} ms for{share} names at first"
        said += ", IPv6 addresses lead nowhere" if self.broken_ipv6 else ""
        return said + (f", answers live {self.ttl_s} s" if self.ttl_s != _TTL_S else "")


_TTL_S = 300
_MOST_MS = 60_000.0
_MOST_TTL_S = 7 * 86_400
