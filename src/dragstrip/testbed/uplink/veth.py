"""Connects a link to the outside for root, by a single interface in the caller's namespace.

Addresses, routes and settings belong to the interface and vanish with it. The interface itself
vanishes with the namespace at its other end. If the caller's kernel forwards packets, address
translation is a table that belongs to a process (nftables' owner flag, Linux 5.12) and vanishes
with it.
"""

import contextlib
import shutil
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.namespaces import Namespaces
from dragstrip.testbed.net.wires import OFFLOADS_OFF, has_ipv6
from dragstrip.testbed.uplink.address import POOL, Subnet
from dragstrip.testbed.uplink.names import relay
from dragstrip.testbed.uplink.uplink import (
    GATEWAY_MAC,
    Uplink,
    caller_range,
    far_end,
    own_address,
    run_here,
)

_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")


@contextlib.contextmanager
def veth_uplink(spaces: Namespaces) -> Iterator[Uplink]:
    """Connect the link namespace to the caller's. Raises `TestbedError`."""
    name, subnet = _claim(spaces)
    with contextlib.ExitStack() as resources:
        # The interface would vanish with the namespace anyway, but only some time later.
        resources.callback(run_here, "ip", "link", "del", name)
        _settings(name)
        sources = own_address(socket.AF_INET), own_address(socket.AF_INET6)
        run_here("ip", "-batch", "-", text="\n".join(far_end(name, subnet, *sources)) + "\n")
        run_here("ethtool", "-K", name, *OFFLOADS_OFF)
        beyond = resources.enter_context(_beyond(name, subnet))
        yield Uplink(subnet, beyond, lambda: relay(str(subnet.gateway)))


def _claim(spaces: Namespaces) -> tuple[str, Subnet]:
    """Return the first free interface name and its range. The kernel assigns each name only
    once."""
    for number, subnet in enumerate(caller_range().parts()):
        name = f"drag{number}"
        veth = f"link add {name} address {GATEWAY_MAC} type veth peer name origin netns"
        done = subprocess.run(
            ["ip", *veth.split(), spaces.path("link")], capture_output=True, text=True
        )
        if done.returncode == 0:
            return name, subnet
        if "File exists" not in done.stderr:
            raise TestbedError(f"cannot make the interface {name!r}: {done.stderr.strip()}")
    raise TestbedError("no address range is left: too many links at once, or nested too deep")


def _settings(name: str) -> None:
    settings = {"ipv4": {"forwarding": "1", "rp_filter": "0"}}
    if has_ipv6():
        settings["ipv6"] = {"disable_ipv6": "0", "accept_ra": "0", "forwarding": "1"}
    for family, values in settings.items():
        for setting, value in values.items():
            path = Path(f"/proc/sys/net/{family}/conf/{name}/{setting}")
            # Some containers may not write this setting. The caller's own addresses do not need it.
            with contextlib.suppress(OSError):
                path.write_text(value)


@contextlib.contextmanager
def _beyond(name: str, subnet: Subnet) -> Iterator[str]:
    if subnet.net.prefixlen > 24:
        yield "as far as the outer link"
    elif _FORWARDING.read_text().strip() != "1":
        yield (
            "only to this machine's own addresses, because it does not forward packets (`sysctl "
            "net.ipv4.ip_forward=1` would change that, `--uplink pasta` goes without)"
        )
    elif not shutil.which("nft"):
        yield "to wherever answers find their way back, because nft (nftables) is not installed"
    else:
        with _masquerade(name, subnet):
            yield "to wherever this machine can connect, from its address"


@contextlib.contextmanager
def _masquerade(name: str, subnet: Subnet) -> Iterator[None]:
    """Open a context in which packets that leave this machine get its address."""
    table = f"""\
add table inet {name} {{ flags owner; }}
add chain inet {name} out {{ type nat hook postrouting priority srcnat; }}
add rule inet {name} out ip saddr {subnet.net} ip daddr != {POOL} masquerade
add rule inet {name} out ip6 saddr {subnet.net6} ip6 daddr != {Subnet().net6} masquerade
list table inet {name}
"""
    with subprocess.Popen(
        ["nft", "--interactive"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as nft:
        assert nft.stdin
        assert nft.stdout
        nft.stdin.write(table)
        nft.stdin.flush()
        said = []
        for line in nft.stdout:
            said.append(line)
            if "masquerade" in line and "ip6" in line and "add rule" not in line:
                break
            if "rror" in line:
                raise TestbedError(f"nft cannot translate addresses: {''.join(said).strip()}")
        yield
