"""The far end of the link: our origin, and another server before or beside it if a stack asks."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import structs

from dragstrip.model.page import Page
from dragstrip.model.servers import Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection
from dragstrip.testbed import caddy_log
from dragstrip.testbed.caddy import PORT as CADDY_PORT
from dragstrip.testbed.caddy import Caddy, Front
from dragstrip.testbed.namespaces import Namespaces
from dragstrip.testbed.origin import PORT, Origin, OriginLog, origin
from dragstrip.testbed.second_origin import PORTS, SecondOrigin
from dragstrip.testbed.spdy_server import Front as SpdyFront
from dragstrip.testbed.spdy_server import SpdyServer, addresses_of, is_spdy_server

PLAIN = "plain.sock"


def places_of(server: Server, addresses: Mapping[str, str]) -> dict[str, str]:
    """``IP:PORT`` at which `server` answers https for hosts whose addresses at the origin are
    given."""
    port = CADDY_PORT if server == "caddy" else PORTS.get(server, PORT)
    return {host: f"{ip}:{port}" for host, ip in addresses_of(server, addresses).items()}


class Servers:
    """Made by `servers`. The stack says who answers; others start when first asked for."""

    def __init__(
        self, behind: Origin, spaces: Namespaces, folder: Path, addresses: Mapping[str, str]
    ) -> None:
        self._origin = behind
        self._spaces = spaces
        self._folder = folder
        self._addresses = addresses
        self._caddy: Caddy | None = None
        self._spdy: dict[Server, SpdyServer] = {}
        self._before: Caddy | SpdyServer | None = None
        """Stands before the origin."""
        self._seconds: dict[Server, SecondOrigin] = {}
        self._second: SecondOrigin | None = None
        """Answers beside the origin."""
        self._serving: tuple[Page, bool] | None = None
        self.ca: Path | None = behind.ca

    @property
    def authority(self) -> str:
        """Of all servers: their certificates are like the origin's."""
        return self._origin.authority

    def serve(self, page: Page, *, think: bool = False) -> None:
        self._origin.serve(page, think=think)
        self._serving = page, think
        for second in self._seconds.values():
            second.serve(page, think=think)

    def tune(self, stack: Stack, rtt_ms: float = 0.0) -> None:
        self._before = None
        self._second = self._beside(stack.server) if stack.server in PORTS else None
        if self._second:
            return  # nothing of it can be changed, and `Stack` refuses what asks for it
        if stack.server == "caddy":
            self._before = self._started_caddy()
        elif is_spdy_server(stack.server):
            self._before = self._started_spdy(stack.server)
        if self._before:
            self._before.tune(stack)
        else:
            self._origin.tune(stack, rtt_ms)

    def _started_caddy(self) -> Caddy:
        if not self._caddy:
            self._caddy = Caddy(
                self._spaces,
                Front(
                    folder=self._folder / "caddy",
                    plain=self._folder / PLAIN,
                    addresses=tuple(self._addresses.values()),
                    certificates=tuple(self._certificates().values()),
                ),
            )
        return self._caddy

    def _started_spdy(self, server: Server) -> SpdyServer:
        if server not in self._spdy:
            self._spdy[server] = SpdyServer(
                server,
                self._spaces,
                SpdyFront(
                    folder=self._folder / server,
                    plain=self._folder / PLAIN,
                    addresses=self._addresses,
                    certificates=self._certificates(),
                ),
            )
        return self._spdy[server]

    def _certificates(self) -> dict[str, dict[str, str]]:
        return self._origin.certificates(list(self._addresses))

    def qlog(self, folder: Path | None) -> None:
        """Of our own origin only: Caddy writes none."""
        self._origin.qlog(folder)

    def _beside(self, server: Server) -> SecondOrigin:
        if server not in self._seconds:
            made = SecondOrigin(server, self._origin, self._spaces, self._folder, self._addresses)
            self._seconds[server] = made
            if self._serving:
                page, think = self._serving
                made.serve(page, think=think)
        return self._seconds[server]

    def close(self) -> None:
        if self._before:
            self._before.close()
        if self._second:
            self._second.close()
        self._origin.close()

    def connections(self) -> tuple[Connection, ...]:
        before = self._before
        return (before if isinstance(before, SpdyServer) else self._origin).connections()

    def log(self) -> OriginLog:
        told = self._origin.log()
        if self._second:
            other = self._second.log()
            return structs.replace(
                other,
                requests=(*told.requests, *other.requests),
                connections=(*told.connections, *other.connections),
            )
        if isinstance(self._before, SpdyServer):
            return self._before.log(told)
        if not self._before:
            return told
        lines = self._before.lines()
        return structs.replace(
            told,
            requests=caddy_log.requests(lines, told.requests),
            connections=caddy_log.connections(lines),
            cpu_s=None,
        )

    def stop(self) -> None:
        for other in (self._caddy, *self._spdy.values(), *self._seconds.values()):
            if other:
                other.stop()


@contextlib.contextmanager
def servers(spaces: Namespaces, folder: Path, addresses: Mapping[str, str]) -> Iterator[Servers]:
    """Run the origin, and whatever else the stacks will ask for, for these hosts."""
    with origin(spaces, folder, plain=folder / PLAIN) as behind:
        made = Servers(behind, spaces, folder, addresses)
        try:
            yield made
        finally:
            made.stop()
