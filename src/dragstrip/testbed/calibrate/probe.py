"""Measures the times of packets that it sends through a link. One process with one clock is at both
ends of the link.

    python -I probe.py CLIENT_IP ORIGIN_IP

The program runs in a testbed's user, mount and PID namespace, where `client` and `origin` are names
of network namespaces. It speaks JSON lines as in docs/reference/processes.md and uses the standard
library only.
"""

import contextlib
import ctypes
import json
import socket
import statistics
import struct
import sys
import threading
import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

_CLONE_NEWNET = 0x40000000
_SO_TIMESTAMPNS = 35
_HEADERS = {socket.SOCK_DGRAM: 28, socket.SOCK_STREAM: 52}
"""Bytes of the IPv4 header together with UDP's, or with TCP's including timestamps."""
_PACKET = 1500
_KINDS = {"udp": socket.SOCK_DGRAM, "tcp": socket.SOCK_STREAM}
_SILENCE_S = 2.0


Work = Callable[..., dict[str, Any]]


def main() -> None:
    addresses = dict(zip(("client", "origin"), sys.argv[1:], strict=True))
    serve(addresses, round_trip, flood, stream, scatter)


def serve(addresses: dict[str, str], *works: Work) -> None:
    """Answer commands. A command names a function of `works`, whose result is the answer."""
    print(json.dumps({"ok": True, "ready": "calibrate_probe"}), flush=True)
    known = {work.__name__: work for work in works}
    for line in sys.stdin:
        wish = json.loads(line)
        try:
            answer: dict[str, Any] = {"ok": True} | known[wish.pop("cmd")](addresses, **wish)
        except OSError as error:
            answer = {"ok": False, "error": f"the probe broke off: {error}"}
        print(json.dumps(answer), flush=True)


def enter(name: str) -> None:
    """Enter a network namespace. Sockets made from now on belong to it."""
    with open(f"/run/netns/{name}") as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter namespace {name!r}")


def pair(addresses: dict[str, str], kind: int, sender: str) -> tuple[socket.socket, socket.socket]:
    """Return connected sockets in the two namespaces, the sender's first."""
    receiver = "origin" if sender == "client" else "client"
    ends = {}
    for name in (sender, receiver):
        enter(name)
        ends[name] = socket.socket(socket.AF_INET, kind)
        ends[name].settimeout(_SILENCE_S + 10)
        ends[name].bind((addresses[name], 0))
    here, there = ends[sender], ends[receiver]
    if kind == socket.SOCK_DGRAM:
        here.connect(there.getsockname())
        there.connect(here.getsockname())
        there.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        return here, there
    there.listen(1)
    here.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    here.connect(there.getsockname())
    accepted, _ = there.accept()
    accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    there.close()
    return here, accepted


def round_trip(addresses: dict[str, str], transport: str, count: int) -> dict[str, Any]:
    """Measure the shortest time of `count` exchanges of one byte, and the length of their
    packets."""
    kind = _KINDS[transport]
    here, there = pair(addresses, kind, "client")
    with here, there:
        trips = []
        for _ in range(count):
            start = time.perf_counter_ns()
            here.send(b"?")
            there.recv(1)
            there.send(b"!")
            here.recv(1)
            trips.append((time.perf_counter_ns() - start) / 1e6)
    return {"rtt_ms": min(trips), "packet_bytes": _HEADERS[kind] + 1}


def flood(
    addresses: dict[str, str], sender: str, mbps: float, seconds: float, line_mbps: float
) -> dict[str, Any]:
    """Send full UDP packets at `mbps` into a line of `line_mbps`; return the rate, burst and queue
    that arrive.

    Each packet contains the time at which it was sent, and the kernel timestamps its arrival.
    """
    here, there = pair(addresses, socket.SOCK_DGRAM, sender)
    there.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    there.settimeout(_SILENCE_S)
    arrived: list[int] = []
    transit: list[int] = []

    def receive() -> None:
        with contextlib.suppress(TimeoutError):
            while True:
                data, ancillary, _, _ = there.recvmsg(_PACKET, 64)
                if len(data) == 1:
                    return
                whole, part = struct.unpack("qq", ancillary[0][2])
                arrived.append(whole * 10**9 + part)
                transit.append(arrived[-1] - struct.unpack_from("q", data)[0])

    receiving = threading.Thread(target=receive)
    receiving.start()
    sent = _send_at(here, mbps, seconds)
    time.sleep(0.05)
    for _ in range(20):  # the end, often enough to survive a full queue and random loss
        here.send(b".")
        time.sleep(0.02)
    receiving.join()
    here.close()
    there.close()
    if len(arrived) < 10:
        raise OSError(f"only {len(arrived)} of {sent} packets came through")
    span_ns = arrived[-1] - arrived[0]
    return {
        "sent_mbps": sent * _PACKET * 8 / seconds / 1e6,
        "rate_mbps": (len(arrived) - 1) * _PACKET * 8e3 / span_ns,
        "burst_ms": _burst_ms(arrived, _PACKET * 8e3 / line_mbps),
        "queue_ms": (statistics.median(transit[-len(transit) // 4 :]) - min(transit)) / 1e6,
    }


def _send_at(end: socket.socket, mbps: float, seconds: float) -> int:
    gap_s = _PACKET * 8 / mbps / 1e6
    rest = bytes(_PACKET - 28 - 8)
    start = time.monotonic()
    sent = 0
    while (now := time.monotonic() - start) < seconds:
        if now < sent * gap_s:
            time.sleep(min(2e-4, sent * gap_s - now))
            continue
        end.send(struct.pack("q", time.time_ns()) + rest)
        sent += 1
    return sent


def _burst_ms(arrived: list[int], gap_ns: float) -> float:
    """Return the 99th percentile of the time by which packets are ahead of a line that sends one
    every `gap_ns`.

    The time is computed as for a token bucket: packets that arrived since any earlier packet, minus
    the packets that the line could carry since then.
    """
    ahead, lead = [], 0.0
    for before, now in pairwise(arrived):
        lead = max(0.0, lead + gap_ns - (now - before))
        ahead.append(lead)
    return sorted(ahead)[len(ahead) * 99 // 100] / 1e6


def stream(addresses: dict[str, str], sender: str, megabytes: float) -> dict[str, Any]:
    """Measure the rate of one TCP connection in bytes of IP, after its first quarter."""
    here, there = pair(addresses, socket.SOCK_STREAM, sender)
    total = int(megabytes * 1e6)

    def send() -> None:
        chunk = bytes(1 << 16)
        left = total
        with contextlib.suppress(OSError):
            while left > 0:
                left -= here.send(chunk[: min(left, len(chunk))])

    sending = threading.Thread(target=send)
    sending.start()
    buffer = bytearray(1 << 16)
    received, began, begin_ns = 0, 0, 0
    while received < total:
        count = there.recv_into(buffer)
        if not count:
            raise OSError("the TCP connection ended early")
        received += count
        if received >= total / 4 and not began:
            began, begin_ns = received, time.perf_counter_ns()
    span_ns = time.perf_counter_ns() - begin_ns
    sending.join()
    here.close()
    there.close()
    payload = _PACKET - _HEADERS[socket.SOCK_STREAM]
    return {"rate_mbps": (received - began) * 8e3 / span_ns * _PACKET / payload}


def scatter(addresses: dict[str, str], sender: str, count: int) -> dict[str, Any]:
    """Send `count` small packets; return how many arrive."""
    here, there = pair(addresses, socket.SOCK_DGRAM, sender)
    there.setblocking(False)
    received = 0

    def drain() -> int:
        got = 0
        with contextlib.suppress(BlockingIOError):
            while there.recv(64):
                got += 1
        return got

    for n in range(count):
        here.send(b"x" * 32)
        if n % 20 == 0:
            received += drain()
            time.sleep(1e-3)
    time.sleep(0.2)
    received += drain()
    here.close()
    there.close()
    return {"received": received}


if __name__ == "__main__":
    main()
