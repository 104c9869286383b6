"""Assigns addresses to `dragstrip link`, from the ranges reserved for measurements. Each address is
assigned only once.

A link's number is that of its interface in the caller's namespace, because the kernel allows each
name only once. A link gives part of its range to every link nested in it, so that packets find
their way back without address translation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from itertools import islice

POOL = IPv4Network("198.18.0.0/15")
"""Address range for measurements of network devices (RFC 2544 appendix C.2.2)."""
_POOL6 = IPv6Network("2001:2::/48")
"""Address range for IPv6 (RFC 5180 section 8)."""
_NARROWER = {POOL.prefixlen: 24, 24: 27, 27: 30}


@dataclass(frozen=True)
class Subnet:
    """The address range of one link. Its first address is the gateway's, its second the
    client's."""

    net: IPv4Network = POOL

    @property
    def net6(self) -> IPv6Network:
        """The corresponding range under the IPv6 prefix."""
        base = int(_POOL6.network_address) | int(self.net.network_address)
        return IPv6Network((base, 96 + self.net.prefixlen))

    @property
    def gateway(self) -> IPv4Address:
        return self.net[1]

    @property
    def client(self) -> IPv4Address:
        return self.net[2]

    @property
    def gateway6(self) -> IPv6Address:
        return self.net6[1]

    @property
    def client6(self) -> IPv6Address:
        return self.net6[2]

    def parts(self) -> Iterator["Subnet"]:
        """Yield the ranges for links inside this one; none at the innermost depth. The range of the
        link's own ends is left out."""
        narrower = _NARROWER.get(self.net.prefixlen)
        if narrower:
            yield from map(Subnet, islice(self.net.subnets(new_prefix=narrower), 1, None))


def around(client: IPv4Address) -> Subnet:
    """Return the largest range of addresses that the link of this client can have. Raises
    `ValueError` if no link has this client."""
    for length in sorted(_NARROWER.values()):
        found = Subnet(IPv4Network((int(client), length), strict=False))
        if found.client == client:
            return found
    raise ValueError(f"{client} is not the client of a link")
