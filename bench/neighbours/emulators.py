"""Measures one emulator, started as its users start it; prints one JSON object per line.

    python emulators.py NAME RUNS

`peers.py` starts it in network, mount and PID namespaces of its own, where it may change anything.
The emulator starts a program behind its link; the bench measures from the interface outside to the
one inside.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "link"))

import figures

_AS_USER = "setpriv --reuid=65534 --regid=65534 --clear-groups env".split()
"""Mahimahi refuses root; its programs are setuid."""
_HELD = "900.25"
"""How long, in s, the program behind the link sleeps: it is found by this number."""
_READY_S = 10.0
Values = dict[str, float]


def dragstrip(values: Values, _folder: Path) -> list[str]:
    argv = ["dragstrip", "link"]
    if "delay_ms" in values:
        argv += ["--delay", f"{values['delay_ms']}ms"]
    if "rate_mbps" in values:
        rate = f"{values['rate_mbps']}mbit"
        argv += ["--down", rate, "--up", rate, "--queue", f"{values['queue_ms']}ms"]
    return [*argv, "--"]


def rattan(values: Values, _folder: Path) -> list[str]:
    argv = ["rattan", "link"]
    for way in ("uplink", "downlink"):
        if "delay_ms" in values:
            argv += [f"--{way}-delay", f"{values['delay_ms']}ms"]
        if "rate_mbps" in values:
            limit = json.dumps({"packet_limit": packets(values)})
            argv += [f"--{way}-bandwidth", f"{values['rate_mbps']}Mbps"]
            argv += [f"--{way}-queue", "droptail", f"--{way}-queue-args", limit]
    return [*argv, "--"]


def mahimahi(values: Values, folder: Path) -> list[str]:
    start = [*_AS_USER, f"PATH={os.environ['PATH']}"]
    if "rate_mbps" not in values:
        return [*start, "mm-delay", str(round(values["delay_ms"]))]
    # A line of a trace is a millisecond in which a full packet may leave.
    assert values["rate_mbps"] == 12, "a full packet each millisecond"
    trace = folder / "trace"
    trace.write_text("1\n")
    folder.chmod(0o755)
    queue = [
        f"--{way}-queue{more}"
        for way in ("uplink", "downlink")
        for more in ("=droptail", f"-args=packets={packets(values)}")
    ]
    return [*start, "mm-link", str(trace), str(trace), *queue, "--"]


def packets(values: Values) -> int:
    """The queue in full packets."""
    return round(values["queue_ms"] * values["rate_mbps"] * 1e3 / 12e3)


EMULATORS: dict[str, Callable[[Values, Path], list[str]]] = {
    each.__name__: each for each in (dragstrip, rattan, mahimahi)
}

PROGRAMS = {"dragstrip": "dragstrip", "rattan": "rattan", "mahimahi": "mm-link"}


def main() -> None:
    if os.getpid() != 1:
        sys.exit("peers.py starts this as the first process of fresh namespaces, which it changes")
    command = EMULATORS[sys.argv[1]]
    _prepare()
    for _ in range(int(sys.argv[2])):
        for name, values, work, arguments in figures.PEERS:
            with tempfile.TemporaryDirectory() as made:
                folder = Path(made)
                with started(command(values, folder), folder / "said") as (emulator, addresses):
                    for namespace in addresses:
                        for setting, value in figures.BUFFERS:
                            _sh(
                                "ip",
                                "netns",
                                "exec",
                                namespace,
                                "sysctl",
                                "-qw",
                                f"{setting}={value}",
                            )
                    before_s, began = cpu_s(emulator), time.monotonic()
                    got = figures.WORKS[work](addresses, **arguments)
                    cpu = (cpu_s(emulator) - before_s) / (time.monotonic() - began)
                    figures.calibrate_probe.enter("origin")
            print(json.dumps({"figure": name, "cpu": cpu} | got), flush=True)


def _prepare() -> None:
    """Give this namespace what emulators ask of a machine: an address, forwarding, a resolver."""
    _sh("mount", "-t", "tmpfs", "tmpfs", "/run")
    _sh("ip", "link", "set", "lo", "up")
    _sh("sysctl", "-qw", "net.ipv4.ip_forward=1")
    resolver = Path("/run/resolv.conf")
    resolver.write_text("nameserver 127.0.0.1\n")
    _sh("mount", "--bind", str(resolver), "/etc/resolv.conf")
    Path("/run/netns").mkdir()
    _name("origin", os.getpid())


@contextlib.contextmanager
def started(command: list[str], said: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """The emulator's process, and the addresses of `client` and `origin`, while it runs.

    Raises `OSError` with what the emulator said if nothing runs behind the link.
    """
    argv = [*command, "sleep", _HELD]
    with (
        said.open("w") as err,
        subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=err, stderr=err) as emulator,
    ):
        inside = None
        try:
            inside = _until(lambda: _sleeper(emulator.pid), emulator, said)
            _name("client", inside)
            yield emulator.pid, _until(_addresses, emulator, said)
        finally:
            if inside:
                os.kill(inside, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                emulator.wait(5)
            emulator.kill()
            subprocess.run(["umount", "/run/netns/client"])


def _until(look: Callable[[], Any], emulator: subprocess.Popen[bytes], said: Path) -> Any:
    """What `look` finds as soon as it finds something."""
    began = time.monotonic()
    while not (found := look()):
        if emulator.poll() is not None or time.monotonic() - began > _READY_S:
            raise OSError(
                f"{emulator.args!r}: no program behind the link: {said.read_text()[-400:]}"
            )
        time.sleep(0.02)
    return found


def _sleeper(emulator: int) -> int | None:
    """The program behind the link, once it is in another network namespace."""
    for pid in _tree(emulator):
        with contextlib.suppress(OSError):
            argv = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            apart = os.readlink(f"/proc/{pid}/ns/net") != os.readlink("/proc/self/ns/net")
            if argv[:2] == [b"sleep", _HELD.encode()] and apart:
                return pid
    return None


def _addresses() -> dict[str, str] | None:
    """The inside's own address, and the way out's; None while the link is not up."""
    shown = ["ip", "-n", "client", "-j", "-4"]
    routes = json.loads(_sh(*shown, "route", "show", "default") or "[]")
    here = json.loads(_sh(*shown, "address", "show", "scope", "global") or "[]")
    outside = json.loads(_sh("ip", "-j", "-4", "address") or "[]")
    own = {info["local"] for link in outside for info in link.get("addr_info", ())}
    inside = [info["local"] for link in here for info in link.get("addr_info", ())]
    gateways = [route["gateway"] for route in routes if "gateway" in route]
    if not inside:
        return None
    out = [address for address in gateways if address in own] or sorted(own - {"127.0.0.1"})
    return {"client": inside[0], "origin": out[0]} if out else None


def cpu_s(root: int) -> float:
    """CPU time of a process and those that it started, in s."""
    total = 0
    for pid in _tree(root):
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            with contextlib.suppress(OSError):
                total += int(task.read_text().split()[0])
    return total / 1e9


def _tree(root: int) -> list[int]:
    found = [root]
    for pid in found:
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, children.read_text().split())
    return found


def _name(namespace: str, pid: int) -> None:
    path = Path("/run/netns") / namespace
    path.touch()
    _sh("mount", "--bind", f"/proc/{pid}/ns/net", str(path))


def _sh(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
