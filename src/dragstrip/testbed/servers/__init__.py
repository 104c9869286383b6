"""Runs the far end of the link: our origin, and the other servers that the stacks name.

Each kind of server has a module in this folder that runs it. `dragstrip.model.servers` lists the
servers.
"""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from dragstrip.model.page import Page
from dragstrip.model.servers import Driver, Server
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection
from dragstrip.testbed.net.layout import Layout
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.servers.codec import Codec
from dragstrip.testbed.servers.origin import Origin, OriginLog, origin
from dragstrip.testbed.servers.program import Program
from dragstrip.testbed.servers.second_origin import SecondOrigin
from dragstrip.testbed.servers.site import RunningProgram, ServerSite

_DRIVERS: Mapping[Driver, Callable[[Server, ServerSite], RunningProgram]] = {
    "second-origin": SecondOrigin,
    "codec": Codec,
    "program": Program,
}
"""Drivers of every server except our origin, which always runs."""
_PLAIN = "plain.sock"


class Servers:
    """Runs the servers of a testbed. The stack names the server that answers. Servers other than
    the origin start when they are first needed."""

    def __init__(self, behind: Origin, spaces: Namespaces, folder: Path, layout: Layout) -> None:
        self._origin = behind
        self._spaces = spaces
        self._folder = folder
        self._layout = layout
        self._started: dict[str, RunningProgram] = {}
        self._other: RunningProgram | None = None
        """The server that answers if it is not the origin; otherwise None."""
        self._serving: tuple[Page, bool] | None = None
        self.ca: Path | None = behind.ca
        self.pid = behind.pid

    def every_root(self) -> Path:
        """Return a file (PEM) with the CA's roots of every kind of key."""
        return self._origin.every_root()

    @property
    def authority(self) -> str:
        """Issuer of all servers' certificates, which are like the origin's."""
        return self._origin.authority

    def serve(self, page: Page, *, think: bool = False, layout: Layout | None = None) -> None:
        """Serve a page. Servers other than the origin know only the addresses and certificates that
        they were started with."""
        self._origin.serve(page, think=think, layout=layout)
        if layout and layout != self._layout:
            self._layout = layout
            self.stop()
        self._serving = page, think
        for other in self._started.values():
            other.serve(page, think=think)

    def tune(self, stack: Stack, rtt_ms: float = 0.0) -> None:
        if stack.serving.driver == "origin":
            self._other = None
            self._origin.code(stack.compress)
            self._origin.tune(stack, rtt_ms)
        else:
            self._origin.code("")  # another server encodes bodies itself
            self._other = self._running(stack.serving)
            self._other.tune(stack, rtt_ms)

    def _running(self, server: Server) -> RunningProgram:
        if server.name not in self._started:
            site = ServerSite(
                spaces=self._spaces,
                folder=self._folder / server.name,
                origin=self._origin,
                plain=self._folder / _PLAIN,
                addresses=self._layout.addresses,
            )
            made = _DRIVERS[server.driver](server, site)
            self._started[server.name] = made
            if self._serving:
                page, think = self._serving
                made.serve(page, think=think)
        return self._started[server.name]

    def certificates(self, hosts: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return what `Origin.certificates` does."""
        return self._origin.certificates(hosts)

    def qlog(self, folder: Path | None) -> None:
        """Write qlogs into this folder; None stops writing. Only our origin can write qlogs."""
        self._origin.qlog(folder)

    def look(self) -> None:
        """Record the state of open connections, because the state is lost when they close."""
        if self._other:
            self._other.look()

    def close(self) -> None:
        if self._other:
            self._other.close()
        self._origin.close()

    def connections(self) -> tuple[Connection, ...]:
        return (self._other or self._origin).connections()

    def log(self) -> OriginLog:
        told = self._origin.log()
        return self._other.log(told) if self._other else told

    def stop(self) -> None:
        """Stop all servers except the origin."""
        for name, other in self._started.items():
            other.stop()
            shutil.rmtree(self._folder / name, ignore_errors=True)
        self._started.clear()
        self._other = None


@contextlib.contextmanager
def servers(spaces: Namespaces, folder: Path, layout: Layout) -> Iterator[Servers]:
    """Run the origin, and other servers when the stacks need them, at the addresses of `layout`."""
    with origin(spaces, folder, folder / _PLAIN, layout) as behind:
        made = Servers(behind, spaces, folder, layout)
        try:
            yield made
        finally:
            made.stop()
