"""The first process of a user-mode kernel: measures its netem; one JSON object a line."""

import ctypes
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import figures

_ADDRESSES = {"client": "10.64.1.1", "origin": "10.64.2.1"}
_ROUTERS = {"client": "10.64.1.2", "origin": "10.64.2.2"}
"""The link's own addresses, towards each end."""
_POWER_OFF = 0x4321FEDC


def sh(line: str) -> None:
    done = subprocess.run(line.split(), capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{line}: {done.stderr.strip()}")


def prepare() -> None:
    for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/tmp")):
        sh(f"/bin/mount -t {kind} {kind} {where}")
    for name in ("client", "link", "origin"):
        sh(f"ip netns add {name}")
        sh(f"ip -n {name} link set lo up")
    sh("ip netns exec link sysctl -qw net.ipv4.ip_forward=1")
    for number, (name, address) in enumerate(_ADDRESSES.items()):
        own, router = (f"02:00:00:00:0{number}:0{side}" for side in (1, 2))
        sh(
            f"ip -n {name} link add eth0 address {own} type veth "
            f"peer name {name} address {router} netns link"
        )
        sh(f"ip -n {name} addr add {address}/24 dev eth0")
        sh(f"ip -n link addr add {_ROUTERS[name]}/24 dev {name}")
        sh(f"ip -n link link set {name} up")
        sh(f"ip -n {name} link set eth0 up")
        sh(f"ip -n {name} route add default via {_ROUTERS[name]}")
        # Without these, the first packets would wait for ARP, which netem delays as well.
        sh(f"ip -n {name} neigh add {_ROUTERS[name]} lladdr {router} dev eth0")
        sh(f"ip -n link neigh add {address} lladdr {own} dev {name}")
        sh(f"ip netns exec link ethtool -K {name} tx off tso off gso off gro off")
        sh(f"ip netns exec {name} ethtool -K eth0 tx off tso off gso off gro off")
        for setting, value in figures.BUFFERS:
            subprocess.run(
                ["ip", "netns", "exec", name, "sysctl", "-q", "-w", f"{setting}={value}"],
                check=True,
            )


def configure(values: dict[str, float]) -> None:
    """netem on both interfaces of the router. -14: count bytes of layer 3, as our link does."""
    netem = "limit 100000"
    if "queue_ms" in values:
        depth = values["queue_ms"] + values.get("delay_ms", 0)
        netem = f"limit {round(depth * values['rate_mbps'] / 12)}"
    if "delay_ms" in values:
        netem += f" delay {values['delay_ms']}ms"
    if "loss" in values:
        netem += f" loss {values['loss'] * 100}%"
    if "rate_mbps" in values:
        netem += f" rate {round(values['rate_mbps'] * 1000)}kbit -14"
    for name in _ADDRESSES:
        subprocess.run(
            f"tc -n link qdisc del dev {name} root".split(), stderr=subprocess.DEVNULL
        )  # a replace would keep an earlier rate
        sh(f"tc -n link qdisc add dev {name} root netem {netem}")


def main() -> None:
    os.environ["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    prepare()
    for _ in range(int(sys.argv[1])):
        for name, values, work, arguments in getattr(figures, sys.argv[2]):
            configure(values)
            got = figures.WORKS[work](_ADDRESSES, **arguments)
            print(json.dumps({"figure": name} | got), flush=True)


try:
    main()
except OSError as error:
    print(json.dumps({"error": str(error)}), flush=True)
finally:
    sys.stdout.flush()
    ctypes.CDLL(None).reboot(_POWER_OFF)
