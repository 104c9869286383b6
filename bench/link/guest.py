"""The first process of a user-mode kernel: measures its netem; one JSON object a line."""

import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent))

import figures

_MODULES = ("veth", "bridge", "sch_netem")
_ADDRESSES = {"client": "10.64.0.1", "origin": "10.64.0.2"}


def sh(line: str) -> None:
    done = subprocess.run(line.split(), capture_output=True, text=True)
    if done.returncode:
        raise OSError(f"{line}: {done.stderr.strip()}")


def prepare() -> None:
    for kind, where in (("proc", "/proc"), ("sysfs", "/sys"), ("tmpfs", "/run"), ("tmpfs", "/tmp")):
        sh(f"/bin/mount -t {kind} {kind} {where}")
    for module in _MODULES:
        load(module)
    for name in ("client", "link", "origin"):
        sh(f"ip netns add {name}")
        sh(f"ip -n {name} link set lo up")
    sh("ip -n link link add bridge type bridge")
    sh("ip -n link link set bridge up")
    for name, address in _ADDRESSES.items():
        sh(f"ip -n {name} link add eth0 type veth peer name {name} netns link")
        sh(f"ip -n {name} addr add {address}/24 dev eth0")
        sh(f"ip -n link link set {name} master bridge up")
        sh(f"ip -n {name} link set eth0 up")
        sh(f"ip netns exec {name} ethtool -K eth0 tx off tso off gso off gro off")
        for setting, value in figures.BUFFERS:
            subprocess.run(
                ["ip", "netns", "exec", name, "sysctl", "-q", "-w", f"{setting}={value}"],
                check=True,
            )


def load(name: str) -> None:
    """Insert a module after those it depends on; one that is built in or there already is fine."""
    folder = Path(f"/usr/lib/uml/modules/{os.uname().release}")
    for line in (folder / "modules.dep").read_text().splitlines():
        module, _, needed = line.partition(":")
        if Path(module).stem == name:
            for path in (*reversed(needed.split()), module):
                subprocess.run(["/bin/busybox", "insmod", folder / path], capture_output=True)


def configure(values: dict[str, float]) -> None:
    """netem on both interfaces of the bridge. -14: count bytes of layer 3, as our link does."""
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
        for name, values, work, arguments in figures.FIGURES:
            configure(values)
            got = figures.WORKS[work](_ADDRESSES, **arguments)
            print(json.dumps({"figure": name} | got), flush=True)


try:
    main()
except OSError as error:
    print(json.dumps({"error": str(error)}), flush=True)
finally:
    Path("/proc/sysrq-trigger").write_text("o")
    import time

    time.sleep(9)
