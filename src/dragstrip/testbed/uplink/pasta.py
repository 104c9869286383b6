"""Connects a link to the outside for ordinary users, who may not enter the caller's network
namespace.

    link  --  origin namespace: relay for TCP, translation for the rest  --  pasta  --  caller

pasta (package passt) turns packets into ordinary sockets of the caller's namespace, so the far end
sees the caller's address. pasta has no congestion control, and would lose most of its packets at an
emulated bottleneck. So connections that cross the link end at the kernel's TCP. The relay passes
their bytes to pasta over a path without delay or loss.
"""

import contextlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from ipaddress import IPv4Network
from typing import IO

from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.net.wires import OFFLOADS_OFF, has_ipv6
from dragstrip.testbed.uplink import relay as uplink_relay
from dragstrip.testbed.uplink.address import Subnet
from dragstrip.testbed.uplink.relay import RELAY_PORT
from dragstrip.testbed.uplink.uplink import (
    GATEWAY_MAC,
    Uplink,
    caller_range,
    ends_with_us,
    far_end,
    run_here,
)

TUN = "/dev/net/tun"
_START_S = 5.0
_PASTA_MAC = "02:00:00:00:00:03"
_INNER = Subnet(IPv4Network("198.18.0.0/24"))
"""Subnet between relay and pasta; the subnet's gateway leads to the caller's loopback."""
_OPTIONS = (
    "--foreground --no-netns-quit --ns-ifname pasta --mtu 65520 --netmask 24 "
    "--tcp-ports none --udp-ports none --tcp-ns none --udp-ns none "
    "--no-dhcp --no-dhcpv6 --no-ra --no-ndp"
).split()


@contextlib.contextmanager
def pasta_uplink(spaces: Namespaces) -> Iterator[Uplink]:
    """Connect the link namespace to the caller's network through pasta. Raises `TestbedError`."""
    for program, package in (("pasta", "passt"), ("nft", "nftables")):
        if not shutil.which(program):
            raise TestbedError(f"the way out needs {program!r}: install {package}")
    if why := tun_refused():
        raise TestbedError(f"the way out needs {TUN}: {why}")
    subnet = next(caller_range().parts(), None)
    if subnet is None:
        raise TestbedError("links can be nested three deep; this is the fourth")
    relay = spaces.command("origin", sys.executable, "-I", uplink_relay.__file__)
    relay += [f"{subnet.gateway}={_INNER.gateway}", f"{subnet.gateway6}={_INNER.gateway6}"]
    with tempfile.TemporaryFile("w+") as said, ends_with_us(_pasta(spaces), said):
        _await(spaces, said, "pasta made no interface", "ip", "link", "show", "dev", "pasta")
        _wire(spaces, subnet)
        with ends_with_us(relay, said):
            listening = ("sh", "-c", f"ss -Hltn sport = {RELAY_PORT} | grep -q .")
            _await(spaces, said, "the relay does not listen", *listening)
            yield Uplink(
                subnet,
                "to wherever this machine can connect, from its address (pasta)",
                there=partial(spaces.command, "origin"),
            )


def tun_refused() -> str:
    """Return why pasta could not create its interface, and what to do; empty if it can."""
    if not os.path.exists(TUN):
        return "the kernel has none: modprobe tun"
    if not os.access(TUN, os.R_OK | os.W_OK):
        return f"only root may open it; as on most systems: chmod 0666 {TUN}"
    return ""


def _pasta(spaces: Namespaces) -> list[str]:
    argv = ["pasta", *_OPTIONS, "--mac-addr", _PASTA_MAC]
    argv += ["--dns-forward", str(_INNER.gateway)]
    argv += ["--address", str(_INNER.client), "--gateway", str(_INNER.gateway)]
    if has_ipv6():
        argv += ["--address", str(_INNER.client6), "--gateway", str(_INNER.gateway6)]
    if spaces.rootless:
        argv += ["--userns", f"/proc/{spaces.keeper_pid}/ns/user"]
    else:
        argv += ["--runas", f"{os.geteuid()}:{os.getegid()}"]
    return [*argv, "--netns", spaces.path("origin")]


def _wire(spaces: Namespaces, subnet: Subnet) -> None:
    """Set the addresses, routes and packet filter of the origin namespace."""
    spaces.run("origin", "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    lines = [
        f"link add gate address {GATEWAY_MAC} type veth peer name origin netns link",
        "link set pasta up mtu 65520",
        f"addr add {_INNER.client}/24 dev pasta",
        f"neigh add {_INNER.gateway} lladdr {_PASTA_MAC} dev pasta nud permanent",
        f"route add default via {_INNER.gateway} dev pasta",
        "rule add fwmark 1 lookup 100",
        "route add local default dev lo table 100",
    ]
    if has_ipv6():
        spaces.run("origin", "sysctl", "-q", "-w", "net.ipv6.conf.all.forwarding=1")
        spaces.run("origin", "ip", "-6", "rule", "add", "fwmark", "1", "lookup", "100")
        lines += [
            f"addr add {_INNER.client6}/120 dev pasta nodad",
            f"neigh add {_INNER.gateway6} lladdr {_PASTA_MAC} dev pasta nud permanent",
            f"route add default via {_INNER.gateway6} dev pasta onlink",
            "route add local ::/0 dev lo table 100",
        ]
    spaces.configure("origin", lines)
    spaces.configure("link", ["link set origin up"])
    spaces.configure("origin", far_end("gate", subnet))
    spaces.run("origin", "ethtool", "-K", "gate", *OFFLOADS_OFF)
    port = RELAY_PORT
    rules = f"""
table inet way {{
  chain divert {{
    type filter hook prerouting priority mangle;
    iifname gate meta nfproto ipv4 meta l4proto tcp tproxy ip to :{port} meta mark set 1 accept
    iifname gate meta nfproto ipv6 meta l4proto tcp tproxy ip6 to :{port} meta mark set 1 accept
  }}
  chain gateway {{
    type nat hook prerouting priority dstnat;
    iifname gate ip daddr {subnet.gateway} meta l4proto udp dnat ip to {_INNER.gateway}
    iifname gate ip6 daddr {subnet.gateway6} meta l4proto udp dnat ip6 to {_INNER.gateway6}
  }}
  chain out {{
    type nat hook postrouting priority srcnat;
    oifname pasta masquerade
  }}
}}
"""
    run_here(*spaces.command("origin", "nft", "-f", "-"), text=rules)


def _await(spaces: Namespaces, said: IO[str], complaint: str, *check: str) -> None:
    """Wait until `check` succeeds in the origin namespace."""
    deadline = time.monotonic() + _START_S
    while True:
        try:
            spaces.run("origin", *check)
            return
        except TestbedError:
            if time.monotonic() > deadline:
                said.seek(0)
                words = [line.strip() for line in said if "syslog" not in line]
                raise TestbedError(f"{complaint}: {' '.join(words[-3:])}") from None
            time.sleep(0.01)
