"""Assigns an address of the origin to each host."""

from collections.abc import Iterable, Mapping, Sequence
from ipaddress import IPv4Address

from msgspec import Struct

from dragstrip.model.addresses import PageServer

_FIRST_HOST = IPv4Address("10.64.1.1")


class Layout(Struct, frozen=True):
    """The addresses of a testbed while it serves a page."""

    addresses: Mapping[str, str]
    """Address of each host, including hosts of pages that will be served later."""
    certificates: Mapping[str, tuple[str, ...]] = {}
    """The hosts that each host's certificate covers. Hosts that are missing here have their own
    certificates."""


def one_each(hosts: Iterable[str]) -> Layout:
    """Give each host its own address, in the given order."""
    return Layout({host: str(_FIRST_HOST + i) for i, host in enumerate(hosts)})


def layouts(pages: Iterable[Sequence[PageServer]]) -> list[Layout]:
    """Return one layout per page. Pages share addresses as far as possible, because an open browser
    knows only the addresses that it was started with."""
    made: list[dict[str, str]] = []
    found: list[tuple[Sequence[PageServer], dict[str, str]]] = []
    for servers in pages:
        addresses = next((a for a in made if _fits(servers, a)), None)
        if addresses is None:
            addresses = {}
            made.append(addresses)
        _place(servers, addresses)
        found.append((servers, addresses))
    return [Layout(addresses, _certificates(servers)) for servers, addresses in found]


def _fits(servers: Sequence[PageServer], addresses: Mapping[str, str]) -> bool:
    """Return whether the addresses that hosts already have fit the page: hosts of one server must
    share an address, and hosts of different servers must not."""
    known = [{addresses[h] for h in server.hosts if h in addresses} for server in servers]
    taken = [ip for of in known for ip in of]
    return all(len(of) <= 1 for of in known) and len(set(taken)) == len(taken)


def _place(servers: Sequence[PageServer], addresses: dict[str, str]) -> None:
    for server in servers:
        fresh = str(_FIRST_HOST + len(set(addresses.values())))
        address = next((addresses[h] for h in server.hosts if h in addresses), fresh)
        addresses |= dict.fromkeys(server.hosts, address)


def _certificates(servers: Sequence[PageServer]) -> dict[str, tuple[str, ...]]:
    every = {host: names for server in servers for host, names in server.certificates.items()}
    return {host: names for host, names in every.items() if names != (host,)}
