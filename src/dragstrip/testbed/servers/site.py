"""The far end of the link as a server finds it, and what the testbed asks of the server there."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path
from typing import Protocol

from dragstrip.model.page import Page
from dragstrip.model.servers import Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.servers.origin import Origin, OriginLog

PORT = 443
_CHOSEN_PORTS = 20_000, 10_000
"""First port, and number of ports, for servers without a known one: above those of known servers,
below a client's."""


@dataclass(frozen=True)
class ServerSite:
    """Where a server runs. The namespace has no way out but the link."""

    spaces: Namespaces
    folder: Path
    """Folder of this server alone, which does not exist yet."""
    origin: Origin
    plain: Path
    """Unix socket at which the origin answers any request over plain HTTP/1.1."""
    addresses: Mapping[str, str]
    """The origin's address of each host."""

    def certificates(self, least_bytes: int | None = None) -> dict[str, dict[str, str]]:
        """PEM of each host's `certificate` (with its intermediate) and `key`; by no name those for
        all hosts. Their size is that of `Stack.certificate_bytes`."""
        return self.origin.certificates(list(self.addresses), least_bytes)


class RunningProgram(Protocol):
    """A server that is there. Everything may raise `TestbedError`."""

    def serve(self, page: Page, *, think: bool) -> None:
        """Serve a page. A server that asks the origin for every answer need do nothing."""

    def tune(self, stack: Stack, rtt_ms: float) -> None:
        """Hold connections accepted from now on to the stack."""

    def look(self) -> None:
        """Take note of what ends with the connections, while they are open."""

    def close(self) -> None:
        """End every connection; session tickets stay valid."""

    def connections(self) -> tuple[Connection, ...]:
        """Connections that belong to the next `log`, in their present state, as far as the server
        knows them."""

    def log(self, behind: OriginLog) -> OriginLog:
        """What was asked for and connected since the last call. `behind` is what the origin saw."""

    def stop(self) -> None: ...


def port_of(server: Server) -> int:
    """Port at which a server answers https, the same in every testbed."""
    first, many = _CHOSEN_PORTS
    return server.port or first + zlib.crc32(server.name.encode()) % many


def addresses_of(server: Server, addresses: Mapping[str, str]) -> dict[str, str]:
    """Where `server` answers for hosts whose addresses at the origin are given."""
    return {host: str(IPv4Address(ip) + server.beside) for host, ip in addresses.items()}


def places_of(server: Server, addresses: Mapping[str, str]) -> dict[str, str]:
    """``IP:PORT`` at which `server` answers https, by host."""
    port = port_of(server)
    return {host: f"{ip}:{port}" for host, ip in addresses_of(server, addresses).items()}
