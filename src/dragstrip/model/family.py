"""The address families of a network, and what they make of a packet."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Literal

Family = Literal[4, 6]
"""IPv4 (RFC 791) or IPv6 (RFC 8200)."""

FAMILIES: tuple[Family, ...] = (4, 6)
HEADER_BYTES: Mapping[Family, int] = {4: 20, 6: 40}
"""Length of a packet's IP header without options or extension headers."""
LEAST_MTU: Mapping[Family, int] = {4: 68, 6: 1280}
"""Every link carries packets of this size (RFC 791 section 3.2, RFC 8200 section 5)."""
IPV4_ONLY: tuple[Family, ...] = (4,)
UDP_HEADER_BYTES = 8
TCP_HEADER_BYTES = 32
"""Length of a TCP header with the timestamps that Linux puts into every segment (RFC 7323)."""


def family_of(address: str) -> Family:
    """Return the family of an address. Raises `ValueError` for what is no address."""
    return 6 if ip_address(address).version == 6 else 4


def bracketed(address: str) -> str:
    """Return the address as a host in URLs: ``10.64.1.1``, or ``[fd64::1]`` (RFC 3986
    section 3.2.2)."""
    return f"[{address}]" if ":" in address else address


def place(address: str, port: int) -> str:
    """Return address and port in one word: ``10.64.1.1:443``, or ``[fd64::1]:443``."""
    return f"{bracketed(address)}:{port}"


def address_in(place: str) -> str:
    """Return the address in what `place` returns; empty if there is none."""
    return place.rpartition(":")[0].removeprefix("[").removesuffix("]")


def port_in(place: str) -> int:
    """Return the port in what `place` returns; 0 if there is none."""
    return int(place.rpartition(":")[2] or 0)
