"""Opens a whole testbed: namespaces, wires, link and origin, as one context manager."""

import contextlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dragstrip.model.ech import announced
from dragstrip.model.family import Family, family_of
from dragstrip.model.names import Dns
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.pages.coded import coded
from dragstrip.testbed.net.kernel import Kernel
from dragstrip.testbed.net.layout import Layout, one_each
from dragstrip.testbed.net.link import Link, emulated_link
from dragstrip.testbed.net.namespaces import Namespaces, namespaces
from dragstrip.testbed.net.wires import RESOLVER_IP, wire_nowhere, wire_up
from dragstrip.testbed.resolver import Resolver, Service, resolver
from dragstrip.testbed.servers import servers
from dragstrip.testbed.servers.origin import RunningServer
from dragstrip.testbed.servers.site import PORT, addresses_of, places_of, port_of
from dragstrip.testbed.workspace import workspace


@dataclass
class Testbed:
    """Everything that a visit needs, except the browser."""

    __test__ = False

    spaces: Namespaces
    workspace: Path
    link: Link
    origin: RunningServer
    kernel: Kernel | None
    """The kernel's settings; None if the far end is outside our control."""
    names: Path | None = None
    """The client's `resolv.conf` if the testbed leads to the caller's network. None if the client
    resolves only the hosts in `addresses`."""
    layout: Layout = field(default_factory=lambda: one_each(()))
    resolver: Resolver | None = None
    """The testbed's resolver; None if every name resolves at once."""

    @property
    def addresses(self) -> Mapping[str, str]:
        """IP address of each host at the origin, for the page that is served."""
        return self.layout.addresses

    def serve(self, page: Page, layout: Layout, *, think: bool = False) -> None:
        """Replay this page from now on, at these addresses; `think` adds the recorded servers'
        think times. Raises `TestbedError`."""
        self.layout = layout
        self.origin.serve(page, think=think, layout=layout)

    def places(self, stack: Stack) -> dict[str, str]:
        """Return ``IP:PORT`` at which the stack's server answers https, by host."""
        return places_of(stack.serving, self.addresses)

    def resolve(
        self, stack: Stack, dns: Dns | None = None, seed: int = 0, *, again: bool = False
    ) -> None:
        """Answer look-ups for this stack's server from now on, as `dns` says; None answers at once.
        In a visit `again`, the resolver knows every name. Raises `TestbedError`."""
        if self.resolver is None:
            return
        hosts = addresses_of(stack.serving, self.addresses)
        port = port_of(stack.serving)
        service = Service(
            alpn=stack.announced,
            port=None if port == PORT else port,
            ech=announced(stack.ech),
        )
        self.resolver.begin(
            dns,
            hosts,
            dict.fromkeys(hosts, service) if stack.announced else {},
            seed,
            unknown=dns.unknown(hosts, seed) if dns and not again else frozenset(),
            forget=not again,
        )

    def coded(self, page: Page, stack: Stack) -> Page:
        """Return the page in the content coding in which the stack's server sends it."""
        return coded(page, stack.compress, self.workspace)

    def tune(self, stack: Stack, rtt_ms: float = 0.0) -> None:
        """Apply the stack to connections opened from now on, on a network with this round trip.

        Raises `TestbedError`.
        """
        if self.kernel:
            self.kernel.tune(stack)
        self.link.addresses = addresses_of(stack.serving, self.addresses)
        self.origin.tune(stack, rtt_ms)


@contextlib.contextmanager
def testbed(hosts: Sequence[str]) -> Iterator[Testbed]:
    """Open a testbed in which each of `hosts` has its own address; see `testbed_of`."""
    with testbed_of([one_each(hosts)]) as made:
        yield made


@contextlib.contextmanager
def testbed_of(
    layouts: Sequence[Layout],
    *,
    resolves: bool = False,  # noqa: PT028 (no test, whatever its name begins with)
    broken_ipv6: bool = False,  # noqa: PT028
) -> Iterator[Testbed]:
    """Open a testbed with these addresses. The first layout is used at once, each other layout with
    the pages that need it. A testbed that `resolves` names has a resolver. With `broken_ipv6` the
    client also has IPv6, over which nothing answers.

    Any number of testbeds may exist at once. No process or file stays behind, however the owner
    ends. Raises `TestbedError` if this machine cannot make a testbed.
    """
    first = layouts[0]
    addresses = [ip for layout in layouts for ip in layout.addresses.values()]
    both: tuple[Family, ...] = (4, 6) if broken_ipv6 else (4,)
    families: Collection[Family] = {*both, *map(family_of, addresses)}
    with workspace() as folder, namespaces() as spaces:
        wire_up(spaces, addresses, families)
        if broken_ipv6:
            wire_nowhere(spaces)
        errors = folder / "link.err"
        with (
            emulated_link(spaces, errors, first.addresses) as link,
            servers(spaces, folder, first) as server,
            contextlib.ExitStack() as more,
        ):
            names = None
            if resolves:
                secrets = server.certificates([RESOLVER_IP])[RESOLVER_IP]
                names = more.enter_context(resolver(spaces, folder, secrets))
            yield Testbed(
                spaces=spaces,
                workspace=folder,
                link=link,
                origin=server,
                kernel=Kernel(spaces, at_origin=server.pid, families=families),
                layout=first,
                resolver=names,
            )
