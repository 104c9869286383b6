"""Assigns an address of the origin to each host."""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import ip_address

from msgspec import Struct

from dragstrip.model.addresses import PageServer
from dragstrip.model.family import Family

_FIRST_HOST: Mapping[Family, str] = {4: "10.64.1.1", 6: "fd64:7261:6773:1::1"}


class Layout(Struct, frozen=True):
    """The addresses of a testbed while it serves a page."""

    addresses: Mapping[str, str]
    """Address of each host, including hosts of pages that will be served later."""
    certificates: Mapping[str, tuple[str, ...]] = {}
    """The hosts that each host's certificate covers. Hosts that are missing here have their own
    certificates."""


def one_each(hosts: Iterable[str], family: Family = 4) -> Layout:
    """Give each host its own address, in the given order."""
    return Layout({host: _address(i, family) for i, host in enumerate(hosts)})


def layouts(pages: Iterable[Sequence[PageServer]], family: Family = 4) -> list[Layout]:
    """Return one layout per page, of one address family. Pages share addresses as far as possible,
    because an open browser knows only the addresses that it was started with."""
    made: list[dict[str, str]] = []
    found: list[tuple[Sequence[PageServer], dict[str, str]]] = []
    for servers in pages:
        addresses = next((a for a in made if _fits(servers, a)), None)
        if addresses is None:
            addresses = {}
            made.append(addresses)
        _place(servers, addresses, family)
        found.append((servers, addresses))
    return [Layout(addresses, _certificates(servers)) for servers, addresses in found]


def _fits(servers: Sequence[PageServer], addresses: Mapping[str, str]) -> bool:
    """Return whether the addresses that hosts already have fit the page: hosts of one server must
    share an address, and hosts of different servers must not."""
    known = [{addresses[h] for h in server.hosts if h in addresses} for server in servers]
    taken = [ip for of in known for ip in of]
    return all(len(of) <= 1 for of in known) and len(set(taken)) == len(taken)


def _address(number: int, family: Family) -> str:
    return str(ip_address(_FIRST_HOST[family]) + number)


def _place(servers: Sequence[PageServer], addresses: dict[str, str], family: Family) -> None:
    for server in servers:
        fresh = _address(len(set(addresses.values())), family)
        address = next((addresses[h] for h in server.hosts if h in addresses), fresh)
        addresses |= dict.fromkeys(server.hosts, address)


def _certificates(servers: Sequence[PageServer]) -> dict[str, tuple[str, ...]]:
    every = {host: names for server in servers for host, names in server.certificates.items()}
    return {host: names for host, names in every.items() if names != (host,)}
