"""Sets up interfaces, addresses and routes of a testbed.

Both ends know each other's hardware address and have one route, so only the page's own packets
cross the link: no ARP, no neighbour discovery, and no route to anywhere else.
"""

from collections.abc import Iterable
from typing import Literal

from dragstrip.testbed.net.namespaces import NamespaceName, Namespaces

CLIENT_IP = "10.64.0.1"
GATEWAY_IP = "10.64.0.2"
_MAC: dict[NamespaceName, str] = {"client": "02:00:00:00:00:01", "origin": "02:00:00:00:00:02"}
OFFLOADS_OFF = ("tx", "off", "tso", "off", "gso", "off", "gro", "off")
"""Arguments of `ethtool -K` that turn offloads off. With offloads, the kernel would hand the link
super-packets of up to 64 kB with unfinished checksums."""
NO_TCP_MEMORY = "net.ipv4.tcp_no_metrics_save=1"
"""A setting that prevents a visit's TCP from learning from earlier visits."""
_SYSCTLS = (NO_TCP_MEMORY, "net.ipv6.conf.all.disable_ipv6=1")


def wire_up(spaces: Namespaces, addresses: Iterable[str]) -> None:
    """Connect client and origin to the link's namespace, and assign the origin its addresses.

    Raises `TestbedError`.
    """
    _plug(spaces, "client", CLIENT_IP, GATEWAY_IP)
    _plug(spaces, "origin", GATEWAY_IP, CLIENT_IP)
    spaces.configure("origin", [f"addr add {ip}/32 dev lo" for ip in dict.fromkeys(addresses)])


def route(
    where: NamespaceName,
    verb: Literal["add", "replace"],
    congestion: str = "cubic",
    initial_window: int = 10,
    receive_window: int | None = None,
) -> str:
    """Return the `ip` line for an end's only route, which carries its TCP settings.

    A new namespace inherits the host's default congestion control, and the host is never changed.
    """
    address, peer = (CLIENT_IP, GATEWAY_IP) if where == "client" else (GATEWAY_IP, CLIENT_IP)
    received = f" initrwnd {receive_window}" if receive_window else ""
    return (
        f"route {verb} default via {peer} dev eth0 onlink src {address} "
        f"congctl {congestion} initcwnd {initial_window}{received}"
    )


def _plug(spaces: Namespaces, where: NamespaceName, address: str, peer: str) -> None:
    peer_mac = _MAC["origin" if where == "client" else "client"]
    spaces.run(where, "sysctl", "-q", "-w", *_SYSCTLS)
    spaces.configure(
        where,
        [
            f"link add eth0 address {_MAC[where]} type veth peer name {where} netns link",
            "link set eth0 gso_max_segs 1 txqueuelen 10000",
            # No subnet: its automatic route would win over our route, which carries the TCP
            # settings.
            f"addr add {address}/32 dev eth0",
            "link set eth0 up",
            f"neigh add {peer} lladdr {peer_mac} dev eth0 nud permanent",
            route(where, "add"),
        ],
    )
    spaces.run(where, "ethtool", "-K", "eth0", *OFFLOADS_OFF)
    spaces.run("link", "sysctl", "-q", "-w", "net.ipv6.conf.all.disable_ipv6=1")
    spaces.configure("link", [f"link set {where} up"])
