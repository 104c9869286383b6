"""The environment in which a server runs at the far end of the link, and the interface of a server
that the testbed uses."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Protocol

from dragstrip.model.chain import Chain
from dragstrip.model.family import place
from dragstrip.model.page import Page
from dragstrip.model.servers import Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.servers.origin import Origin, OriginLog

PORT = 443
_USUAL = Chain()
_CHOSEN_PORTS = 20_000, 10_000
"""First port, and number of ports, for servers without a known port. The range lies above the known
servers' ports and below clients' ports."""


@dataclass(frozen=True)
class ServerSite:
    """The environment of a server. Only the link leads out of its namespace."""

    spaces: Namespaces
    folder: Path
    """Folder for this server only. It does not exist yet."""
    origin: Origin
    plain: Path
    """Unix socket at which the origin answers all requests over plain HTTP/1.1."""
    addresses: Mapping[str, str]
    """Address of each host at the origin."""

    def certificates(self, chain: Chain = _USUAL) -> dict[str, dict[str, str]]:
        """Return the PEM text of each host's `certificate` (with its intermediates) and `key`. The
        empty name has those for all hosts."""
        return self.origin.certificates(list(self.addresses), chain)

    def certificate(self, host: str, chain: Chain = _USUAL) -> dict[str, str]:
        """Return the PEM text of `certificate` and `key` of a host that may not be the page's."""
        return self.origin.certificates([host], chain)[host]


class RunningProgram(Protocol):
    """A running server. Every method may raise `TestbedError`."""

    def serve(self, page: Page, *, think: bool) -> None:
        """Serve a page. A server that forwards every request to the origin has nothing to do."""

    def tune(self, stack: Stack, rtt_ms: float) -> None:
        """Apply the stack to connections accepted from now on."""

    def look(self) -> None:
        """Record the state of open connections, because the state is lost when they close."""

    def close(self) -> None:
        """End every connection; session tickets stay valid."""

    def connections(self) -> tuple[Connection, ...]:
        """Return the connections that the next `log` will contain, in their current state, as far
        as the server knows them."""

    def log(self, behind: OriginLog) -> OriginLog:
        """Return the requests and connections since the last call. `behind` is the origin's log."""

    def stop(self) -> None: ...


def port_of(server: Server) -> int:
    """Return the port at which a server answers https. The port is the same in every testbed."""
    first, many = _CHOSEN_PORTS
    return server.port or first + zlib.crc32(server.name.encode()) % many


def addresses_of(server: Server, addresses: Mapping[str, str]) -> dict[str, str]:
    """Return the addresses at which `server` answers, by host. `addresses` are those at the
    origin."""
    return {host: str(ip_address(ip) + server.beside) for host, ip in addresses.items()}


def places_of(server: Server, addresses: Mapping[str, str]) -> dict[str, str]:
    """Return address and port at which `server` answers https, by host."""
    port = port_of(server)
    return {host: place(ip, port) for host, ip in addresses_of(server, addresses).items()}
