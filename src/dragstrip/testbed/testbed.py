"""A whole testbed: namespaces, wires, link and origin, as one context manager."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dragstrip.model.stack import Stack
from dragstrip.testbed.net.kernel import Kernel
from dragstrip.testbed.net.link import Link, emulated_link
from dragstrip.testbed.net.namespaces import Namespaces, namespaces
from dragstrip.testbed.net.wires import host_addresses, wire_up
from dragstrip.testbed.servers import servers
from dragstrip.testbed.servers.origin import RunningServer
from dragstrip.testbed.servers.site import addresses_of, places_of
from dragstrip.testbed.workspace import workspace


@dataclass(frozen=True)
class Testbed:
    """Everything a visit needs but the browser."""

    __test__ = False

    spaces: Namespaces
    workspace: Path
    addresses: Mapping[str, str]
    """Host name to IP address of the origin."""
    link: Link
    origin: RunningServer
    kernel: Kernel | None
    """None where the far end is not ours to tune."""
    names: Path | None = None
    """`resolv.conf` of the client, where the far end is the caller's network; None where the client
    knows `addresses` and nothing else."""

    def places(self, stack: Stack) -> dict[str, str]:
        """``IP:PORT`` at which the stack's server answers https, by host."""
        return places_of(stack.serving, self.addresses)

    def tune(self, stack: Stack, rtt_ms: float = 0.0) -> None:
        """Hold connections opened from now on to the stack, on a network of this round trip.

        Raises `TestbedError`.
        """
        if self.kernel:
            self.kernel.tune(stack)
        self.link.addresses = addresses_of(stack.serving, self.addresses)
        self.origin.tune(stack, rtt_ms)


@contextlib.contextmanager
def testbed(hosts: Sequence[str]) -> Iterator[Testbed]:
    """A testbed in which each of `hosts` has its own address.

    Any number may exist at once. Nothing stays behind, however the owner ends. Raises
    `TestbedError` where it cannot be had.
    """
    addresses = host_addresses(hosts)
    with workspace() as folder, namespaces() as spaces:
        wire_up(spaces, addresses)
        errors = folder / "link.err"
        with (
            emulated_link(spaces, errors, addresses) as link,
            servers(spaces, folder, addresses) as server,
        ):
            yield Testbed(
                spaces=spaces,
                workspace=folder,
                addresses=addresses,
                link=link,
                origin=server,
                kernel=Kernel(spaces, at_origin=server.pid),
            )
