"""A testbed whose far end is the caller's network instead of our origin."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.testbed.net.layout import Layout
from dragstrip.testbed.net.link import emulated_link
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.net.wires import NO_TCP_MEMORY
from dragstrip.testbed.servers.origin import OriginLog
from dragstrip.testbed.testbed import Testbed
from dragstrip.testbed.uplink.names import resolv_conf
from dragstrip.testbed.uplink.pasta import pasta_uplink
from dragstrip.testbed.uplink.uplink import plug_client
from dragstrip.testbed.uplink.veth import veth_uplink
from dragstrip.testbed.workspace import workspace


class Outside:
    """Stands in for the `Origin` when servers are outside our control. Its commands have no
    effect."""

    authority = ""

    def __init__(self, ca: Path | None) -> None:
        self.ca = ca
        """Certificate (PEM) of an additional authority to trust."""

    def every_root(self) -> Path | None:
        return self.ca

    def serve(self, page: Page, *, think: bool = False, layout: Layout | None = None) -> None:
        pass

    def tune(self, stack: Stack, rtt_ms: float = 0.0) -> None:
        pass

    def qlog(self, folder: Path | None) -> None:
        pass

    def look(self) -> None:
        pass

    def close(self) -> None:
        pass

    def log(self) -> OriginLog:
        return OriginLog(requests=(), connections=(), cpu_s=None)


@contextlib.contextmanager
def live_testbed(ca: Path | None = None) -> Iterator[Testbed]:
    """Open a testbed with client and link as in `testbed`. The link leads to the caller's network.

    The way out, and all its traces in the caller's namespace, end with the context, see `uplink`.
    Raises `TestbedError`.
    """
    uplink = pasta_uplink if os.geteuid() else veth_uplink
    with (
        workspace() as folder,
        namespaces() as spaces,
        uplink(spaces) as way,
    ):
        plug_client(spaces, way.subnet)
        spaces.run("client", "sysctl", "-q", "-w", NO_TCP_MEMORY)
        names = folder / "resolv.conf"
        names.write_text(resolv_conf(str(way.subnet.gateway)) or "")
        with emulated_link(spaces, folder / "link.err") as link, way.resolver():
            yield Testbed(
                spaces=spaces,
                workspace=folder,
                link=link,
                origin=Outside(ca),
                kernel=None,
                names=names,
            )
