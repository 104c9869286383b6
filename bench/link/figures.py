"""Measures a link: the figures as data, and the functions that take them. Standard library only:
the module also runs inside a user-mode kernel. Every function takes the addresses of the namespaces
`client` and `origin` and measures downstream, from origin to client."""

import contextlib
import fcntl
import socket
import struct
import threading
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

PROBE = Path(__file__).parents[2] / "src/dragstrip/testbed/calibrate/probe.py"


def _probe() -> ModuleType:
    """The probe by its file, because a user-mode kernel's Python has no dragstrip."""
    spec = spec_from_file_location("calibrate_probe", PROBE)
    assert spec, PROBE
    assert spec.loader, PROBE
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


calibrate_probe = _probe()

# Without offloads the kernel charges 4 kB a packet, and its own limit holds TCP to 600 Mbit/s at
# a round trip of 20 ms. The receive buffer starts large: where the reader waits for a CPU in the
# first round trips, the kernel leaves its window at 80 kB for good, 30 Mbit/s at this round
# trip, and the figure would be the reader's. (name, value) for `sysctl`.
BUFFERS = [
    ("net.ipv4.tcp_rmem", "4096 16777216 33554432"),
    ("net.ipv4.tcp_wmem", "4096 131072 33554432"),
]
_ALL = 0x0003
_SIOCGIFADDR = 0x8915
_HEADERS = 28
_TIMESTAMPNS = 35
_SOL_SOCKET = socket.SOL_SOCKET


def one_way(addresses: dict[str, str], delay_ms: float, count: int) -> dict[str, Any]:
    """Error of the one-way delay of 1400-byte packets at about 1 kHz, from interface to interface.
    The kernel timestamps a packet when it leaves one interface and when it arrives at the other. So
    the error includes neither sockets nor this program."""
    sender, receiver = calibrate_probe.pair(addresses, socket.SOCK_DGRAM, "origin")
    taps = [_tap(name, addresses[name]) for name in ("origin", "client")]
    sent: dict[int, int] = {}
    came: dict[int, int] = {}
    for number in range(count + round(delay_ms) + 200):
        if number < count:
            sender.send(struct.pack("q", number) + bytes(1392))
        for tap, stamps in zip(taps, (sent, came), strict=True):
            _read(tap, stamps)  # often, for an ordinary user's socket holds little
        time.sleep(1e-3)
    for end in (sender, receiver, *taps):
        end.close()
    errors = sorted((came[n] - sent[n]) / 1e3 - delay_ms * 1e3 for n in came if n in sent)
    return {
        "p50_us": errors[len(errors) // 2],
        "p99_us": errors[len(errors) * 99 // 100],
        "max_us": errors[-1],
    }


def _tap(namespace: str, address: str) -> socket.socket:
    calibrate_probe.enter(namespace)
    # Only a socket for all protocols sees what goes out.
    tap = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(_ALL))
    tap.bind((_interface(address), _ALL))
    tap.setsockopt(_SOL_SOCKET, _TIMESTAMPNS, 1)
    tap.setblocking(False)
    return tap


def _interface(address: str) -> str:
    """The interface of this namespace that has the address."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asks:
        for _, name in socket.if_nameindex():
            with contextlib.suppress(OSError):  # it has none
                wish = struct.pack("256s", name.encode())
                answer = fcntl.ioctl(asks, _SIOCGIFADDR, wish)
                if socket.inet_ntoa(answer[20:24]) == address:
                    return name
    raise OSError(f"no interface has {address}")


def _read(tap: socket.socket, stamps: dict[int, int]) -> None:
    """Add what has come: number of our packet -> the kernel's stamp in ns."""
    with contextlib.suppress(BlockingIOError):
        while True:
            data, ancillary, _, _ = tap.recvmsg(2048, 64)
            if len(data) == _HEADERS + 1400:
                seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
                (number,) = struct.unpack_from("q", data, _HEADERS)
                stamps[number] = seconds * 10**9 + nanoseconds


def bulk(addresses: dict[str, str], seconds: float) -> dict[str, Any]:
    """Goodput of one TCP connection in the second half of the time. The first half is left to slow
    start."""
    sender, receiver = calibrate_probe.pair(addresses, socket.SOCK_STREAM, "origin")

    def send() -> None:
        # No larger: a kernel without preemption holds the link up while it copies one write.
        data = bytes(1 << 16)
        with contextlib.suppress(OSError):
            while True:
                sender.sendall(data)

    sending = threading.Thread(target=send)
    sending.start()
    buffer = bytearray(1 << 17)
    start = first = now = time.monotonic()
    received = 0
    while now - start < seconds:
        count = receiver.recv_into(buffer)
        now = time.monotonic()
        if now - start < seconds / 2:
            first = now
        else:
            received += count
    receiver.close()
    sending.join()
    sender.close()
    return {"mbps": received * 8 / (now - first) / 1e6}


def lossy(addresses: dict[str, str], count: int) -> dict[str, Any]:
    got = calibrate_probe.scatter(addresses, "origin", count)
    return {"lost": count - got["received"], "of": count}


def line(addresses: dict[str, str], mbps: float, seconds: float) -> dict[str, Any]:
    """Rate and queue depth of a line of `mbps` under twice the load."""
    got = calibrate_probe.flood(addresses, "origin", 2 * mbps, seconds, mbps)
    return {
        "rate_error_percent": (got["rate_mbps"] / mbps - 1) * 100,
        "queue_packets": got["queue_ms"] * mbps * 1e3 / 12e3,
    }


WORKS = {work.__name__: work for work in (one_way, bulk, lossy, line)}

FIGURES: list[tuple[str, dict[str, float], str, dict[str, float]]] = [
    *(
        (f"delay {ms} ms", {"delay_ms": ms}, "one_way", {"delay_ms": ms, "count": 1000})
        for ms in (1, 10, 50, 100, 400)
    ),
    ("12 Mbit/s", {"rate_mbps": 12, "queue_ms": 100}, "line", {"mbps": 12, "seconds": 2.5}),
    ("100 kbit/s", {"rate_mbps": 0.1, "queue_ms": 1200}, "line", {"mbps": 0.1, "seconds": 5}),
    ("loss 5 %", {"loss": 0.05}, "lossy", {"count": 20_000}),
    ("TCP, no delay", {}, "bulk", {"seconds": 3}),
    (
        "TCP, 1 Gbit/s, 10 ms each way",
        {"rate_mbps": 1000, "delay_ms": 10, "queue_ms": 50},
        "bulk",
        {"seconds": 8},
    ),
]
"""Name, what both directions are to be, function, its arguments. Queue of 12 Mbit/s: 100 packets;
of 100 kbit/s: 10."""

PEERS = [
    *(each for each in FIGURES if each[0] in ("delay 10 ms", "delay 50 ms", "12 Mbit/s")),
    ("TCP, 10 ms each way", {"delay_ms": 10}, "bulk", {"seconds": 4}),
]
"""What link, rattan, Mahimahi and netem are all measured by: bench/neighbours/peers.py."""
