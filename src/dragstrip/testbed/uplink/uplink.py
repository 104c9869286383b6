"""Connects the far end of a link to the network of the user who started the link.

For root a pair of interfaces leads into the caller's namespace (`veth`). The caller's own addresses
are reached without translation, by the kernel's own TCP. An ordinary user may not enter that
namespace, so `pasta` opens ordinary sockets on behalf of the client.
"""

import contextlib
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from ipaddress import IPv4Address
from typing import IO

import msgspec

from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.net.wires import OFFLOADS_OFF, has_ipv6
from dragstrip.testbed.process import until_stdin_ends
from dragstrip.testbed.uplink.address import POOL, Subnet, around

CLIENT_MAC, GATEWAY_MAC = "02:00:00:00:00:01", "02:00:00:00:00:02"
IFACE = "dragstrip"
"""Name of the client's interface."""


@dataclass(frozen=True)
class Uplink:
    """A far end that is ready for use: the link namespace has the interface `origin`."""

    subnet: Subnet
    beyond: str
    """The networks that the far end reaches, in words."""
    resolver: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext
    """Opens a context in which the gateway's address answers DNS as the caller's resolvers do."""
    there: Callable[..., list[str]] = lambda *argv: list(argv)
    """Returns the command that runs a program at the link's far end, which is by default the
    caller's namespace."""


def far_end(
    name: str, subnet: Subnet, source: str | None = None, source6: str | None = None
) -> list[str]:
    """Return the `ip -batch` lines for the interface at the link's far end; its routes lead to the
    client.

    Servers at the far end that listen on every address answer from `source`, by default the
    gateway's address.
    """
    ends = [
        (subnet.gateway, subnet.client, subnet.net, source),
        (subnet.gateway6, subnet.client6, subnet.net6, source6),
    ]
    return _lines(name, ends, CLIENT_MAC)


def plug_client(spaces: Namespaces, subnet: Subnet) -> None:
    """Give the client namespace its interface, its addresses and its only route. Raises
    `TestbedError`.

    Both ends know each other's hardware address: no ARP and no neighbour discovery on the link.
    """
    settings = [
        "net.ipv4.ip_forward=1",  # for links nested in this one
        "net.ipv4.ping_group_range=0 0",  # ping without privileges; group 0 is the caller's
    ]
    if has_ipv6():
        # Duplicate address detection is off: if an address becomes ready a second after its
        # interface, a browser thinks that the network has changed, and gives up what it was
        # loading.
        settings += ["net.ipv6.conf.default.accept_dad=0", "net.ipv6.conf.default.accept_ra=0"]
        settings += ["net.ipv6.conf.all.forwarding=1"]
        quiet = [f"net.ipv6.conf.{name}.disable_ipv6=1" for name in ("all", "default")]
        spaces.run("link", "sysctl", "-q", "-w", *quiet)
    spaces.run("client", "sysctl", "-q", "-w", *settings)
    spaces.configure(
        "link",
        [
            f"link add client type veth peer name {IFACE} address {CLIENT_MAC} netns client",
            "link set client up",
            "link set origin up",
        ],
    )
    ends = [
        (subnet.client, subnet.gateway, "default", None),
        (subnet.client6, subnet.gateway6, "default", None),
    ]
    spaces.configure("client", _lines(IFACE, ends, GATEWAY_MAC))
    spaces.run("client", "ethtool", "-K", IFACE, *OFFLOADS_OFF)


def _lines(
    name: str, ends: Sequence[tuple[object, object, object, str | None]], peer_mac: str
) -> list[str]:
    """Return the `ip` lines that bring an interface up. `ends` has, for IPv4 and IPv6: own address,
    peer's address, the networks beyond it, and the source address of packets there (None means the
    interface's own)."""
    lines = [f"link set {name} gso_max_segs 1 txqueuelen 10000 up"]
    for (own, peer, beyond, source), nodad in zip(
        ends, ("", "nodad")[: 1 + has_ipv6()], strict=False
    ):
        lines += [
            # The line does not use `peer`, which would add a route with the wrong source.
            f"addr add {own} dev {name} {nodad}",
            f"neigh add {peer} lladdr {peer_mac} dev {name} nud permanent",
            # The route is onlink, because IPv6 learns a moment later that the interface has a
            # carrier.
            f"route add {peer} dev {name} src {source or own}",
            f"route add {beyond} via {peer} dev {name} onlink src {source or own}",
        ]
    return lines


def caller_range() -> Subnet:
    """Return the range from which the caller may assign addresses: the whole pool, or a part of it
    if the caller is inside a link."""
    outer = subprocess.run(
        ["ip", "-json", "-4", "addr", "show", "dev", IFACE], capture_output=True, text=True
    )
    found = msgspec.json.decode(outer.stdout) if outer.returncode == 0 else []
    for address in (a["local"] for link in found for a in link.get("addr_info", [])):
        if IPv4Address(address) in POOL:
            return around(IPv4Address(address))
    return Subnet()


def own_address(family: socket.AddressFamily) -> str | None:
    """Return the source address of the caller's namespace for outside networks; None if it reaches
    no such network."""
    elsewhere = {socket.AF_INET: "192.0.32.8", socket.AF_INET6: "2001:500:88:200::8"}[family]
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((elsewhere, 9))  # this chooses a route; for UDP no packet is sent
        return str(probe.getsockname()[0])
    return None


def run_here(*argv: str, text: str = "") -> str:
    """Run a program in the caller's namespace and return its stdout. Raises `TestbedError`."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True)
    if done.returncode:
        raise TestbedError(f"{' '.join(argv)!r} failed: {done.stderr.strip()}")
    return done.stdout


@contextlib.contextmanager
def ends_with_us(
    argv: Sequence[str], said: IO[str], inherited: Sequence[int] = ()
) -> Iterator["subprocess.Popen[str]"]:
    """Run a program that must not outlive this process, even if this process is killed.

    The program's output goes to `said`. The program inherits the descriptors `inherited`.
    """
    with subprocess.Popen(
        until_stdin_ends(*argv),
        stdin=subprocess.PIPE,
        text=True,
        start_new_session=True,
        stdout=said,
        stderr=said,
        pass_fds=inherited,
    ) as child:
        assert child.stdin
        try:
            yield child
        finally:
            child.stdin.close()
