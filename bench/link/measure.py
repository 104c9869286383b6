"""Measure the emulated link in real namespaces; prints one JSON object per figure.

    PYTHONPATH=src python bench/link/measure.py target/release/dragstrip-link [NAME...]

Senders and receivers are sockets of this process made inside the testbed's namespaces. One-way
delay is the kernel's receive stamp minus the wall clock read just before the send. Needs root.
"""

import contextlib
import ctypes
import json
import socket
import statistics
import struct
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from dragstrip.testbed.namespaces import Namespaces, Where, namespaces
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.wires import CLIENT_IP, wire_up

ORIGIN_IP = "10.64.0.2"
PLAIN: dict[str, Any] = {"rate_mbps": None, "delay_ms": 0, "loss": 0, "queue_ms": None}
_CLONE_NEWNET = 0x40000000
_SO_RCVBUFFORCE = 33
_SO_TIMESTAMPNS = 35
_HEADERS = 28  # IPv4 and UDP


class Bed:
    """Two ends and a link between them."""

    def __init__(self, spaces: Namespaces, link: JsonProcess) -> None:
        self.spaces = spaces
        self.link = link

    def configure(self, *, seed: int = 1, **directions: dict[str, Any]) -> None:
        up, down = (PLAIN | directions.get(side, {}) for side in ("up", "down"))
        self.link.ask("configure", dict, seed=seed, up=up, down=down)

    def stats(self) -> dict[str, Any]:
        return self.link.ask("stats", dict[str, Any])

    def inside(self, where: Where, kind: int) -> socket.socket:
        """A socket of a namespace; it stays there although only its maker thread ever was."""
        made: list[socket.socket] = []

        def make() -> None:
            path = Path(f"/proc/{self.spaces.keeper_pid}/root/run/netns/{where}")
            with path.open() as namespace:
                if ctypes.CDLL(None).setns(namespace.fileno(), _CLONE_NEWNET) == 0:
                    made.append(socket.socket(socket.AF_INET, kind))

        _together(make)
        made[0].setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, 32 << 20)
        return made[0]


@contextlib.contextmanager
def bed(binary: str) -> Iterator[Bed]:
    with namespaces() as spaces, tempfile.TemporaryDirectory() as folder:
        wire_up(spaces, {})
        argv = spaces.command("link", binary, "--client", "client", "--origin", "origin")
        with json_process("link", argv, Path(folder) / "link.err") as link:
            yield Bed(spaces, link)


def one_way(bed: Bed, delay_ms: float, *, count: int = 3000, gap_s: float = 1e-3) -> dict[str, Any]:
    """Error of the one-way delay of 1400-byte UDP packets at about 1 kpps, down."""
    bed.configure(down={"delay_ms": delay_ms})
    receiver = bed.inside("client", socket.SOCK_DGRAM)
    sender = bed.inside("origin", socket.SOCK_DGRAM)
    receiver.bind((CLIENT_IP, 9000))
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    receiver.settimeout(2)
    errors: list[float] = []

    def receive() -> None:
        for _ in range(count):
            data, ancillary, _, _ = receiver.recvmsg(2048, 64)
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
            (sent,) = struct.unpack_from("q", data)
            errors.append((seconds * 10**9 + nanoseconds - sent) / 1e3 - delay_ms * 1e3)

    def send() -> None:
        for _ in range(count):
            sender.sendto(struct.pack("q", time.time_ns()) + bytes(1392), (CLIENT_IP, 9000))
            time.sleep(gap_s)

    _together(receive, send)
    errors.sort()
    return {
        "delay_ms": delay_ms,
        "received": len(errors),
        "min_us": errors[0],
        "p50_us": statistics.median(errors),
        "p99_us": errors[len(errors) * 99 // 100],
        "max_us": errors[-1],
        "link": _picked(bed.stats()["down"], "lateness_p50_us lateness_p99_us lateness_max_us"),
    }


def tcp(bed: Bed, seconds: float, side: dict[str, Any]) -> dict[str, Any]:
    """Goodput of one TCP connection, origin to client, after the first second."""
    bed.configure(up=side, down=side)
    listener = bed.inside("origin", socket.SOCK_STREAM)
    listener.bind((ORIGIN_IP, 0))
    listener.listen()
    client = bed.inside("client", socket.SOCK_STREAM)
    port = listener.getsockname()[1]
    rates: list[float] = []

    def send() -> None:
        connection, _ = listener.accept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        # No larger: a kernel without preemption holds the link up while it copies one write.
        data = bytes(1 << 16)
        with contextlib.suppress(OSError), connection:
            while True:
                connection.sendall(data)

    def receive() -> None:
        client.connect((ORIGIN_IP, port))
        buffer = bytearray(1 << 17)
        start = time.monotonic()
        first = last = start
        received = 0
        while last - start < seconds:
            count = client.recv_into(buffer)
            last = time.monotonic()
            if last - start < 1:
                first = last
            else:
                received += count
        client.close()
        rates.append(received * 8 / (last - first) / 1e6)

    _together(send, receive)
    down = bed.stats()["down"]
    return {"tcp_mbps": round(rates[0], 2), "link": down} | _realised(down)


def flood(bed: Bed, mbps: float, seconds: float, down: dict[str, Any]) -> dict[str, Any]:
    """UDP at `mbps` into a slower link: rate and spacing by the receiver's kernel stamps."""
    bed.configure(down=down)
    receiver = bed.inside("client", socket.SOCK_DGRAM)
    sender = bed.inside("origin", socket.SOCK_DGRAM)
    receiver.bind((CLIENT_IP, 9000))
    receiver.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    receiver.settimeout(1)
    stamps: list[int] = []
    transit: list[int] = []

    def receive() -> None:
        with contextlib.suppress(TimeoutError):
            while True:
                data, ancillary, _, _ = receiver.recvmsg(2048, 64)
                whole, part = struct.unpack("qq", ancillary[0][2])
                stamps.append(whole * 10**9 + part)
                transit.append(stamps[-1] - struct.unpack_from("q", data)[0])

    def send() -> None:
        start = time.monotonic()
        sent = 0
        while (now := time.monotonic() - start) < seconds:
            while sent * 1500 * 8 < now * mbps * 1e6:
                sender.sendto(struct.pack("q", time.time_ns()) + bytes(1464), (CLIENT_IP, 9000))
                sent += 1
            time.sleep(2e-4)

    _together(receive, send)
    packets = len(stamps) - 1
    measured = packets * 1500 * 8 / (stamps[-1] - stamps[0]) * 1e3
    report = bed.stats()["down"]
    return {
        "received": len(stamps),
        "l3_mbps": measured,
        "error_percent": (measured / down["rate_mbps"] - 1) * 100,
        "queue_max_packets": (max(transit) - min(transit)) * down["rate_mbps"] / 12e6,
        "link": report,
    } | _realised(report)


def loss(bed: Bed, share: float, count: int) -> dict[str, Any]:
    """Share of UDP packets lost."""
    bed.configure(up={"loss": share})
    receiver = bed.inside("origin", socket.SOCK_DGRAM)
    sender = bed.inside("client", socket.SOCK_DGRAM)
    receiver.bind((ORIGIN_IP, 9000))
    for i in range(count):
        sender.sendto(b"x" * 200, (ORIGIN_IP, 9000))
        if i % 50 == 0:
            time.sleep(1e-3)
    up = bed.stats()["up"]
    return _picked(up, "packets_in packets_out dropped_loss") | {
        "loss": up["dropped_loss"] / up["packets_in"]
    }


def ping(bed: Bed, delay_ms: float) -> dict[str, Any]:
    bed.configure(up={"delay_ms": delay_ms}, down={"delay_ms": delay_ms})
    client = bed.inside("client", socket.SOCK_DGRAM)
    origin = bed.inside("origin", socket.SOCK_DGRAM)
    origin.bind((ORIGIN_IP, 9000))
    client.connect((ORIGIN_IP, 9000))
    client.settimeout(2)
    trips: list[float] = []

    def echo() -> None:
        for _ in range(200):
            origin.sendto(*origin.recvfrom(2048))

    def ask() -> None:
        for _ in range(200):
            start = time.monotonic_ns()
            client.send(b"ping")
            client.recv(2048)
            trips.append((time.monotonic_ns() - start) / 1e6)

    _together(echo, ask)
    return {"delay_ms": delay_ms, "rtt_p50_ms": statistics.median(trips), "max": max(trips)}


FIGURES: dict[str, Callable[[Bed], dict[str, Any]]] = {
    "ping": lambda bed: ping(bed, 10),
    "one-way-1": lambda bed: one_way(bed, 1),
    "one-way-10": lambda bed: one_way(bed, 10),
    "one-way-50": lambda bed: one_way(bed, 50),
    "one-way-100": lambda bed: one_way(bed, 100),
    "one-way-400": lambda bed: one_way(bed, 400),
    "rate-12": lambda bed: flood(bed, 20, 6, {"rate_mbps": 12, "queue_ms": 100}),
    "rate-0.1": lambda bed: flood(bed, 0.3, 20, {"rate_mbps": 0.1, "queue_ms": 1200}),
    "rate-100": lambda bed: flood(bed, 150, 4, {"rate_mbps": 100, "delay_ms": 10, "queue_ms": 50}),
    "loss": lambda bed: loss(bed, 0.05, 100_000),
    "tcp-plain": lambda bed: tcp(bed, 5, {}),
    "tcp-1g-10ms": lambda bed: tcp(bed, 6, {"rate_mbps": 1000, "delay_ms": 10, "queue_ms": 50}),
}


def _together(*works: Callable[[], None]) -> None:
    threads = [threading.Thread(target=work) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _picked(report: dict[str, Any], names: str) -> dict[str, Any]:
    return {name: report[name] for name in names.split()}


def _realised(report: dict[str, Any]) -> dict[str, Any]:
    busy = report["busy_ms"]
    return {"realised_mbps": report["busy_bytes"] * 8 / busy / 1000 if busy else None}


def _steal() -> int:
    return int(Path("/proc/stat").read_text().split()[8])


def main() -> None:
    binary, *names = sys.argv[1:]
    for name in names or FIGURES:
        with bed(binary) as testbed:
            before = _steal()
            figure = FIGURES[name](testbed)
            print(json.dumps({"figure": name} | figure | {"steal_ticks": _steal() - before}))
            sys.stdout.flush()


main()
