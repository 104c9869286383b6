"""The emulated link in real namespaces: what arrives, what does not, and what the link reports."""

import contextlib
import ctypes
import hashlib
import os
import random
import re
import signal
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.namespaces import NamespaceName, Namespaces, namespaces
from dragstrip.testbed.net.wires import CLIENT_IP, wire_up
from dragstrip.testbed.process import JsonProcess, json_process
from dragstrip.testbed.programs import program

ORIGIN_IP = "10.64.0.2"
PLAIN: dict[str, Any] = {"rate_mbps": None, "delay_ms": 0, "loss": 0, "queue_ms": None}
PORT = 9000
UDP_HEADERS = 28
_CLONE_NEWNET = 0x40000000
_SO_TIMESTAMPNS = 35


class Bed:
    """A client, an origin and the link between them."""

    def __init__(self, spaces: Namespaces, link: JsonProcess) -> None:
        self.spaces = spaces
        self.link = link

    def configure(self, *, seed: int = 1, **sides: dict[str, Any]) -> None:
        up, down = (PLAIN | sides.get(side, {}) for side in ("up", "down"))
        self.link.ask("configure", dict, seed=seed, up=up, down=down)

    def stats(self, side: str) -> dict[str, Any]:
        report: dict[str, Any] = self.link.ask("stats", dict[str, Any])[side]
        gone = ("packets_out", "dropped_loss", "dropped_queue", "send_failures", "queued")
        assert report["packets_in"] == sum(report[name] for name in gone)
        return report

    def inside(
        self, where: NamespaceName, family: int, kind: int, protocol: int = 0
    ) -> socket.socket:
        """A socket in a namespace. Only the thread that makes it ever enters the namespace."""
        made: list[socket.socket] = []

        def make() -> None:
            path = Path(f"/proc/{self.spaces.keeper_pid}/root/run/netns/{where}")
            with path.open() as namespace:
                assert ctypes.CDLL(None).setns(namespace.fileno(), _CLONE_NEWNET) == 0
            made.append(socket.socket(family, kind, protocol))

        thread = threading.Thread(target=make)
        thread.start()
        thread.join()
        made[0].settimeout(10)
        return made[0]

    def udp(self) -> tuple[socket.socket, socket.socket]:
        """A client and an origin socket that can reach each other."""
        client = self.inside("client", socket.AF_INET, socket.SOCK_DGRAM)
        origin = self.inside("origin", socket.AF_INET, socket.SOCK_DGRAM)
        for end, address in ((client, CLIENT_IP), (origin, ORIGIN_IP)):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            end.bind((address, PORT))
        client.connect((ORIGIN_IP, PORT))
        origin.connect((CLIENT_IP, PORT))
        return client, origin


def link_command(spaces: Namespaces, client: str = "client") -> list[str]:
    binary = program("dragstrip-link")
    return spaces.command("link", binary, "--client", client, "--origin", "origin")


@contextlib.contextmanager
def running_bed(folder: Path) -> Iterator[Bed]:
    if os.geteuid():
        pytest.skip("needs root: sockets are made inside the namespaces of a testbed")
    try:
        program("dragstrip-link")
    except TestbedError as error:
        pytest.skip(str(error))
    with namespaces() as spaces:
        wire_up(spaces, {})
        errors = folder / "link.err"
        with json_process("dragstrip-link", link_command(spaces), errors) as link:
            yield Bed(spaces, link)


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bed]:
    with running_bed(tmp_path_factory.mktemp("link")) as made:
        yield made


def settled(bed: Bed, side: str, sent: int = 0) -> dict[str, Any]:
    """The report once the link has received everything that was sent and holds no packet any
    more."""
    deadline = time.monotonic() + 10
    while (report := bed.stats(side))["queued"] or report["packets_in"] < sent:
        assert time.monotonic() < deadline, report
        time.sleep(0.01)
    return report


def received(end: socket.socket, count: int) -> list[bytes]:
    return [end.recv(65536) for _ in range(count)]


def test_every_size_arrives_unchanged_in_both_directions(bed: Bed) -> None:
    bed.configure(up={"delay_ms": 2, "rate_mbps": 50}, down={"delay_ms": 3, "rate_mbps": 80})
    client, origin = bed.udp()
    with client, origin:
        messages = [random.Random(size).randbytes(size) for size in range(0, 1473, 16)]
        for sender, receiver in ((client, origin), (origin, client)):
            for message in messages:
                sender.send(message)
            assert received(receiver, len(messages)) == messages
    for side in ("up", "down"):
        report = settled(bed, side, sent=len(messages))
        assert report["packets_out"] == len(messages)
        assert report["bytes_out"] == sum(len(m) + UDP_HEADERS for m in messages)
        assert report["largest_frame_bytes"] == 14 + UDP_HEADERS + len(messages[-1])


def test_no_packet_is_early(bed: Bed) -> None:
    bed.configure(down={"delay_ms": 20})
    client, origin = bed.udp()
    with client, origin:
        client.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        for _ in range(200):
            origin.send(struct.pack("q", time.time_ns()))
            time.sleep(1e-3)
        for _ in range(200):
            message, ancillary, _, _ = client.recvmsg(64, 64)
            seconds, nanoseconds = struct.unpack("qq", ancillary[0][2])
            assert seconds * 10**9 + nanoseconds - struct.unpack("q", message)[0] >= 20_000_000
    assert settled(bed, "down", sent=200)["transit_min_ms"] >= 20


def lost(bed: Bed, seed: int, size: int, gap_s: float) -> set[int]:
    """Which of 2000 packets towards the origin do not arrive."""
    bed.configure(seed=seed, up={"loss": 0.1, "rate_mbps": 200})
    client, origin = bed.udp()
    with client, origin:
        for index in range(2000):
            client.send(struct.pack("I", index) + bytes(size))
            if index % 50 == 0:
                time.sleep(gap_s)
        report = settled(bed, "up", sent=2000)
        arrived = {struct.unpack_from("I", m)[0] for m in received(origin, report["packets_out"])}
    missing = set(range(2000)) - arrived
    assert len(missing) == report["dropped_loss"]
    return missing


def test_a_seed_loses_the_same_packets_whatever_and_whenever_is_sent(bed: Bed) -> None:
    first = lost(bed, seed=7, size=10, gap_s=1e-3)
    assert first == lost(bed, seed=7, size=1200, gap_s=5e-3)
    assert first != lost(bed, seed=8, size=10, gap_s=1e-3)


def test_the_fate_of_each_packet_is_reported_by_index(bed: Bed) -> None:
    missing = lost(bed, seed=7, size=10, gap_s=0)
    fates = "".join(
        fate * int(count or 1)
        for count, fate in re.findall(r"(\d*)([+.-])", bed.stats("up")["loss_fates"])
    )
    assert {index for index, fate in enumerate(fates) if fate == "-"} == missing
    assert set(fates) == {"+", "-"}
    assert bed.stats("down")["loss_fates"] == ""


def test_each_far_end_is_reported_with_what_passed(bed: Bed) -> None:
    bed.configure(up={"delay_ms": 5, "loss": 0.5}, down={"delay_ms": 2})
    began_us = time.time_ns() // 1000
    client, origin = bed.udp()
    with client, origin:
        for _ in range(40):
            client.send(bytes(100))
        origin.send(bytes(300))
        up, down = settled(bed, "up", sent=40), settled(bed, "down", sent=1)
    (to,), (came,) = up["far_ends"], down["far_ends"]
    place = {"address": ORIGIN_IP, "port": PORT, "transport": "udp"}
    assert place.items() <= to.items()
    assert place.items() <= came.items()
    assert to["packets"] + to["dropped"] == 40
    assert to["bytes"] == to["packets"] * (100 + UDP_HEADERS)
    assert began_us <= to["first_drop_us"] <= time.time_ns() // 1000
    assert to["transit_min_ms"] >= 5
    assert (came["packets"], came["bytes"], came["dropped"]) == (1, 300 + UDP_HEADERS, 0)
    assert came["first_drop_us"] is None
    assert came["transit_min_ms"] >= 2


def test_packets_that_do_not_wait_show_the_lines_rate(bed: Bed) -> None:
    bed.configure(up={"rate_mbps": 2})
    client, origin = bed.udp()
    with client, origin:
        for _ in range(5):
            client.send(bytes(472))
            time.sleep(0.01)
        report = settled(bed, "up", sent=5)
    assert report["line_bytes"] == 5 * 500
    assert report["line_ms"] == pytest.approx(5 * 2)
    assert bed.stats("down")["line_bytes"] == 0


def test_the_queue_drops_at_its_tail(bed: Bed) -> None:
    bed.configure(down={"rate_mbps": 1.2, "queue_ms": 55})
    client, origin = bed.udp()
    with client, origin:
        for index in range(200):
            origin.send(struct.pack("I", index) + bytes(1468))
        report = settled(bed, "down", sent=200)
        arrived = [struct.unpack_from("I", m)[0] for m in received(client, report["packets_out"])]
    assert arrived[:6] == [0, 1, 2, 3, 4, 5]
    assert arrived == sorted(arrived)
    assert report["dropped_queue"] == 200 - len(arrived) > 0
    assert 40 < report["queue_max_ms"] <= 55


def test_realised_rate_is_reported(bed: Bed) -> None:
    bed.configure(down={"rate_mbps": 20, "loss": 0.05, "delay_ms": 5})
    client, origin = bed.udp()
    with client, origin:
        for _ in range(400):
            origin.send(bytes(1472))
        report = settled(bed, "down", sent=400)
    assert report["busy_bytes"] > 300 * 1500
    # Wide enough for a machine that stops for a while; a wrong estimator is further off.
    assert 10 < report["busy_bytes"] * 8 / report["busy_ms"] / 1000 < 21


def test_configure_forgets_what_is_inside(bed: Bed) -> None:
    bed.configure(down={"delay_ms": 60_000})
    client, origin = bed.udp()
    with client, origin:
        origin.send(b"old")
        while bed.stats("down")["queued"] != 1:
            time.sleep(0.01)
        bed.configure()
        assert bed.stats("down")["packets_in"] == 0
        origin.send(b"new")
        assert client.recv(64) == b"new"
        bed.link.ask("passthrough", dict)
        assert bed.stats("down")["packets_in"] == 0
        origin.send(b"newer")
        assert client.recv(64) == b"newer"


def download(bed: Bed, size: int) -> None:
    """Fetch random bytes from origin to client over TCP and check each of them."""
    body = random.Random(size).randbytes(size)
    listener = bed.inside("origin", socket.AF_INET, socket.SOCK_STREAM)
    client = bed.inside("client", socket.AF_INET, socket.SOCK_STREAM)
    with listener, client:
        listener.bind((ORIGIN_IP, 0))
        listener.listen()
        client.connect((ORIGIN_IP, listener.getsockname()[1]))
        connection, _ = listener.accept()

        def send() -> None:
            with connection:
                connection.sendall(body)

        thread = threading.Thread(target=send)
        thread.start()
        digest = hashlib.sha256()
        while data := client.recv(1 << 16):
            digest.update(data)
        thread.join()
    assert digest.digest() == hashlib.sha256(body).digest()


def test_tcp_comes_through_a_lossy_link_whole(bed: Bed) -> None:
    side = {"rate_mbps": 50, "delay_ms": 5, "loss": 0.02, "queue_ms": 50}
    bed.configure(up=side, down=side)
    download(bed, 1_000_000)
    assert bed.stats("down")["dropped_loss"] > 0
    assert bed.stats("down")["largest_frame_bytes"] <= 1514


def offloads(state: str) -> list[str]:
    return [word for name in ("tx", "tso", "gso") for word in (name, state)]


def test_super_packets_pass_and_are_reported(bed: Bed) -> None:
    bed.configure()
    bed.spaces.run("origin", "ethtool", "-K", "eth0", *offloads("on"))
    bed.spaces.configure("origin", ["link set eth0 gso_max_segs 64"])
    try:
        download(bed, 3_000_000)
    finally:
        bed.spaces.run("origin", "ethtool", "-K", "eth0", *offloads("off"))
        bed.spaces.configure("origin", ["link set eth0 gso_max_segs 1"])
    report = settled(bed, "down")
    assert report["largest_frame_bytes"] > 1514
    assert report["send_failures"] == report["ring_drops"] == 0


@pytest.mark.parametrize(("ethertype", "counted"), [(0x88B5, False), (0x86DD, True)])
def test_every_frame_passes_but_only_ip_counts(bed: Bed, ethertype: int, counted: bool) -> None:
    bed.configure()
    client, origin = (
        bed.inside(where, socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ethertype))
        for where in ("client", "origin")
    )
    with client, origin:
        for end in (client, origin):
            end.bind(("eth0", ethertype))
        frame = bytes(12) + struct.pack("!H", ethertype) + bytes(1000)
        client.send(frame)
        assert origin.recv(2048) == frame
    # The frame's length distinguishes it from packets that TCP of an earlier test may still repeat.
    assert (settled(bed, "up")["largest_frame_bytes"] == len(frame)) is counted


def test_what_cannot_be_sent_is_counted(tmp_path: Path) -> None:
    with running_bed(tmp_path) as bed:
        bed.configure(down={"delay_ms": 1})
        client, origin = bed.udp()
        with client, origin:
            bed.spaces.configure("client", ["link set eth0 down"])
            for _ in range(3):
                origin.send(b"into the void")
            assert settled(bed, "down", sent=3)["send_failures"] == 3


def test_goes_on_after_a_bad_command(bed: Bed) -> None:
    with pytest.raises(TestbedError, match="unknown variant `dance`"):
        bed.link.ask("dance", dict)
    with pytest.raises(TestbedError, match="loss is 2: give a share from 0 to 1"):
        bed.configure(up={"loss": 2})
    assert bed.link.ask("stats", dict[str, Any])["since_us"] <= time.time_ns() // 1000


@pytest.mark.parametrize("how", ["quit", "end of input", "signal"])
def test_ends_cleanly(bed: Bed, how: str) -> None:
    argv = link_command(bed.spaces)
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as link:
        assert link.stdin
        assert link.stdout
        assert b'"ready":"dragstrip-link"' in link.stdout.readline()
        if how == "quit":
            link.stdin.write(b'{"cmd":"quit"}\n')
            link.stdin.flush()
            assert link.stdout.readline() == b'{"ok":true}\n'
        elif how == "signal":
            # nsenter forks into the PID namespace; the link is its child.
            child = Path(f"/proc/{link.pid}/task/{link.pid}/children").read_text().split()[0]
            os.kill(int(child), signal.SIGTERM)
        else:
            link.stdin.close()
        assert link.wait(10) == 0


def test_names_an_interface_that_is_not_there(bed: Bed) -> None:
    argv = link_command(bed.spaces, client="nowhere")
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 1
    assert 'no interface "nowhere"' in done.stderr
