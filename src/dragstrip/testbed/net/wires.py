"""Sets up interfaces, addresses and routes of a testbed.

Both ends know each other's hardware address and have one route per address family, so only the
page's own packets cross the link: no ARP, no neighbour discovery, and no route to
anywhere else.
"""

from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Literal

from dragstrip.model.family import IPV4_ONLY, Family, family_of
from dragstrip.model.names import NOWHERE
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.namespaces import NamespaceName, Namespaces

CLIENT_IP = "10.64.0.1"
GATEWAY_IP = "10.64.0.2"
ENDS: Mapping[Family, Mapping[NamespaceName, str]] = {
    4: {"client": CLIENT_IP, "origin": GATEWAY_IP},
    6: {"client": "fd64:7261:6773::1", "origin": "fd64:7261:6773::2"},
}
"""Address of each end's interface: private (RFC 1918) and unique local (RFC 4193)."""
_LENGTHS: Mapping[Family, int] = {4: 32, 6: 128}
_MAC: dict[NamespaceName, str] = {"client": "02:00:00:00:00:01", "origin": "02:00:00:00:00:02"}
OFFLOADS_OFF = ("tx", "off", "tso", "off", "gso", "off", "gro", "off")
"""Arguments of `ethtool -K` that turn offloads off. With offloads, the kernel would hand the link
super-packets of up to 64 kB with unfinished checksums."""
NO_TCP_MEMORY = "net.ipv4.tcp_no_metrics_save=1"
"""A setting that prevents a visit's TCP from learning from earlier visits."""
_GLOBAL_IP = "2001:db8:ffff::1"
"""The client's global address, where IPv6 is broken. A browser without one would not try IPv6."""
RESOLVER_IP = "10.65.0.2"
_ASKER_IP = "10.65.0.1"
"""The client's address on the path to its resolver."""
NAMES_ENDS = ("names-client", "names-resolver")
"""The interfaces, in the link's namespace, of the path to the resolver."""
_NO_IPV6 = "net.ipv6.conf.all.disable_ipv6=1"
_SYSCTLS = (NO_TCP_MEMORY, _NO_IPV6)
_QUIET_IPV6 = tuple(
    f"net.ipv6.conf.default.{setting}"
    for setting in ("accept_ra=0", "accept_dad=0", "addr_gen_mode=1", "router_solicitations=0")
)
"""Settings that keep IPv6 silent: no address is looked for, made or checked for being taken. An
interface without ARP joins no group for neighbours, so it reports none."""


NO_IPV6 = (
    "networks with family = 6 or broken_ipv6 need it; boot without ipv6.disable=1, or race without"
)
"""What to do on a machine without IPv6."""


def has_ipv6() -> bool:
    """Return whether this kernel has IPv6. Namespaces then have it too, whatever the machine is
    connected to."""
    return Path("/proc/sys/net/ipv6").exists()


def wire_up(
    spaces: Namespaces, addresses: Iterable[str], families: Collection[Family] = IPV4_ONLY
) -> None:
    """Connect client and origin to the link's namespace, and assign the origin its addresses.

    Raises `TestbedError`.
    """
    if 6 in families and not has_ipv6():
        raise TestbedError(f"this kernel has no IPv6: {NO_IPV6}")
    _plug(spaces, "client", families)
    _plug(spaces, "origin", families)
    own = [f"addr add {host_range(ip)} dev lo" for ip in dict.fromkeys(addresses)]
    spaces.configure("origin", own)


def host_range(address: str) -> str:
    """Return the range with this address alone, as `ip addr` takes it."""
    return f"{address}/{_LENGTHS[family_of(address)]}"


def wire_nowhere(spaces: Namespaces) -> None:
    """Give the client a global IPv6 address, and a route over the link to addresses at which
    nothing answers. The origin's kernel forwards nothing, so packets to them end there, without an
    answer. IPv6 must be wired up. Raises `TestbedError`."""
    _, peer = _ends("client", 6)
    spaces.configure(
        "client",
        [
            f"addr add {_GLOBAL_IP}/128 dev eth0 nodad",
            f"route add {NOWHERE} via {peer} dev eth0 onlink src {_GLOBAL_IP}",
        ],
    )


def wire_names(spaces: Namespaces) -> None:
    """Connect the client to a resolver in its own namespace, by a separate path through the link's
    namespace. Raises `TestbedError`."""
    spaces.add("resolver")
    spaces.run("resolver", "sysctl", "-q", "-w", *_SYSCTLS)
    ends: tuple[tuple[NamespaceName, str, str], ...] = (
        ("client", _ASKER_IP, RESOLVER_IP),
        ("resolver", RESOLVER_IP, _ASKER_IP),
    )
    macs = {_ASKER_IP: "02:00:00:00:00:03", RESOLVER_IP: "02:00:00:00:00:04"}
    for (where, address, peer), name in zip(ends, NAMES_ENDS, strict=True):
        spaces.configure(
            where,
            [
                f"link add names0 address {macs[address]} type veth peer name {name} netns link",
                "link set names0 gso_max_segs 1 txqueuelen 10000",
                f"addr add {address}/32 dev names0",
                "link set names0 up",
                f"neigh add {peer} lladdr {macs[peer]} dev names0 nud permanent",
                f"route add {peer}/32 dev names0 src {address}",
            ],
        )
        spaces.run(where, "ethtool", "-K", "names0", *OFFLOADS_OFF)
        spaces.configure("link", [f"link set {name} up"])


def route(
    where: NamespaceName,
    verb: Literal["add", "replace"],
    congestion: str = "cubic",
    initial_window: int = 10,
    receive_window: int | None = None,
    family: Family = 4,
) -> str:
    """Return the `ip` line for an end's only route of a family, which carries its TCP settings.

    A new namespace inherits the host's default congestion control, and the host is never changed.
    """
    address, peer = _ends(where, family)
    received = f" initrwnd {receive_window}" if receive_window else ""
    return (
        f"route {verb} default via {peer} dev eth0 onlink src {address} "
        f"congctl {congestion} initcwnd {initial_window}{received}"
    )


def _ends(where: NamespaceName, family: Family) -> tuple[str, str]:
    """Return an end's own address, and its peer's."""
    ends = ENDS[family]
    return ends[where], ends["origin" if where == "client" else "client"]


def _plug(spaces: Namespaces, where: NamespaceName, families: Collection[Family]) -> None:
    peer_mac = _MAC["origin" if where == "client" else "client"]
    both = 6 in families
    settings = (NO_TCP_MEMORY, *_QUIET_IPV6) if both else _SYSCTLS
    spaces.run(where, "sysctl", "-q", "-w", *settings)
    address, peer = _ends(where, 4)
    lines = [
        f"link add eth0 address {_MAC[where]} type veth peer name {where} netns link",
        f"link set eth0 gso_max_segs 1 txqueuelen 10000{' arp off' if both else ''}",
        # No subnet: its automatic route would win over our route, which carries the TCP
        # settings.
        f"addr add {address}/32 dev eth0",
        "link set eth0 up",
        f"neigh add {peer} lladdr {peer_mac} dev eth0 nud permanent",
        route(where, "add"),
    ]
    if both:
        address, peer = _ends(where, 6)
        lines += [
            f"addr add {address}/128 dev eth0 nodad",
            f"neigh add {peer} lladdr {peer_mac} dev eth0 nud permanent",
            route(where, "add", family=6),
        ]
    spaces.configure(where, lines)
    spaces.run(where, "ethtool", "-K", "eth0", *OFFLOADS_OFF)
    spaces.run("link", "sysctl", "-q", "-w", _NO_IPV6)
    spaces.configure("link", [f"link set {where} up"])
