"""A testbed over IPv6: it is silent by itself, and its link tells IPv6's senders of its MTU."""

import socket
import time
from contextlib import contextmanager
from typing import Any

import pytest
from test_link_forwarding import Bed, link_command

from dragstrip.model.background import Background
from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.testbed.background import background
from dragstrip.testbed.net.kernel import forgotten_mtu
from dragstrip.testbed.net.layout import one_each
from dragstrip.testbed.net.link import emulated_link
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.net.wires import ENDS, wire_up
from dragstrip.testbed.process import json_process
from dragstrip.testbed.testbed import testbed_of as made_testbed

CLIENT, ORIGIN = ENDS[6]["client"], ENDS[6]["origin"]
PORT = 9000
MTU = 1280
_IPV6_MTU_DISCOVER, _IPV6_MTU = 23, 24
_NEVER_FRAGMENT = 2
PADDING_OF_OPTIONS = bytes([0, 0, 1, 4, 0, 0, 0, 0])


@contextmanager
def bed_over_ipv6(folder):
    with namespaces() as spaces:
        wire_up(spaces, (), (4, 6))
        with json_process("dragstrip-link", link_command(spaces), folder / "err") as link:
            yield Bed(spaces, link)


@pytest.fixture
def bed(tmp_path):
    with bed_over_ipv6(tmp_path) as made:
        yield made


def ends(bed: Bed) -> tuple[socket.socket, socket.socket]:
    client, origin = (
        bed.inside(where, socket.AF_INET6, socket.SOCK_DGRAM) for where in ("client", "origin")
    )
    for end, address in ((client, CLIENT), (origin, ORIGIN)):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        end.bind((address, PORT))
    client.connect((ORIGIN, PORT))
    origin.connect((CLIENT, PORT))
    return client, origin


def test_both_families_answer_and_nothing_else_is_sent():
    with made_testbed([one_each(["a.test"]), one_each(["a.test"], 6)]) as bed:
        time.sleep(2.5)  # listeners to groups report themselves twice within two seconds
        report = bed.link.report()
        assert (report.up.packets_in, report.down.packets_in) == (0, 0)
        for target in ("10.64.1.1", "fd64:7261:6773:1::1"):
            bed.spaces.run("client", "bash", "-c", f"exec 3<>/dev/tcp/{target}/443")
        seen = {end.address for end in bed.link.report().up.far_ends or ()}
        assert seen == {"10.64.1.1", "fd64:7261:6773:1::1"}


def test_a_testbed_without_ipv6_networks_has_none():
    with made_testbed([one_each(["a.test"])]) as bed:
        for end in ("client", "origin"):
            assert "inet6" not in bed.spaces.run(end, "ip", "addr", "show", "dev", "eth0")


@pytest.mark.parametrize("extended", [False, True])
def test_a_sender_learns_the_mtu_and_forgets_it(bed: Bed, extended: bool) -> None:
    narrow = {"mtu": MTU, "mtu_behaviour": "too-big"}
    told = Direction(mtu=MTU, mtu_behaviour="too-big")
    network = Network(name="made", down=told, up=Direction(), family=6)
    headers = 48 + (8 if extended else 0)
    for _ in range(2):
        with forgotten_mtu(bed.spaces, network):
            bed.configure(down=narrow)
            client, origin = ends(bed)
            with client, origin:
                origin.setsockopt(socket.IPPROTO_IPV6, _IPV6_MTU_DISCOVER, _NEVER_FRAGMENT)
                if extended:
                    origin.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_DSTOPTS, PADDING_OF_OPTIONS)
                    origin.connect((CLIENT, PORT))  # the option cut it off
                assert origin.getsockopt(socket.IPPROTO_IPV6, _IPV6_MTU) == 1500
                origin.send(bytes(MTU - headers))
                assert len(client.recv(2000)) == MTU - headers
                origin.send(bytes(MTU - headers + 1))
                deadline = time.monotonic() + 10
                while origin.getsockopt(socket.IPPROTO_IPV6, _IPV6_MTU) != MTU:
                    assert time.monotonic() < deadline
                    time.sleep(0.01)
    report: dict[str, Any] = bed.link.ask("stats", dict[str, Any])["down"]
    assert (report["dropped_mtu"], report["told_too_big"]) == (1, 1)
    assert [end["port"] for end in report["far_ends"]] == [PORT]


@pytest.mark.parametrize(("what", "host"), [("port", CLIENT), ("address", "fd64::1")])
def test_a_rebinding_shows_the_client_elsewhere(bed: Bed, what: str, host: str) -> None:
    plain = {"rate_mbps": None, "delay_ms": 0, "loss": 0, "queue_ms": None}
    step = {"t_ms": 50, "up": plain, "down": plain, "rebind": {"what": what, "drops_tcp": False}}
    bed.link.ask("configure", dict, seed=1, up=plain, down=plain, at=[step])
    client, origin = ends(bed)
    listener = bed.inside("origin", socket.AF_INET6, socket.SOCK_DGRAM)
    with client, origin, listener:
        listener.bind((ORIGIN, PORT + 1))
        client.connect((ORIGIN, PORT + 1))
        bed.link.ask("start", dict, at_ns=time.time_ns())
        client.send(b"before")
        _, place = listener.recvfrom(9)
        time.sleep(0.1)
        client.send(b"after")
        said, moved = listener.recvfrom(9)
        assert said == b"after"
        assert moved[0] == host
        assert (moved[1] == place[1]) == (what == "address")
        listener.sendto(b"answer", moved)
        assert client.recv(9) == b"answer"
    _, after = bed.link.ask("stats", dict[str, Any])["phases"]
    (mapping,) = after["rebinding"]["mappings"]
    assert mapping == [f"[{CLIENT}]:{PORT}", f"[{host}]:{moved[1]}"]


def test_a_clamp_leaves_room_for_the_longer_header(bed: Bed) -> None:
    bed.configure(down={"mtu": MTU, "mtu_behaviour": "clamp"})
    listener = bed.inside("origin", socket.AF_INET6, socket.SOCK_STREAM)
    client = bed.inside("client", socket.AF_INET6, socket.SOCK_STREAM)
    with listener, client:
        listener.bind((ORIGIN, PORT))
        listener.listen()
        client.connect((ORIGIN, PORT))
        peer, _ = listener.accept()
        with peer:
            peer.sendall(bytes(20_000))
            left = 20_000
            while left:
                left -= len(client.recv(left))
    report: dict[str, Any] = bed.link.ask("stats", dict[str, Any])["down"]
    assert (report["clamped"], report["dropped_mtu"]) == (1, 0)
    assert report["largest_frame_bytes"] == MTU + 14


@pytest.mark.parametrize("kind", ["tcp", "udp"])
def test_background_load_crosses_the_link_over_ipv6(tmp_path, kind):
    rate = {"rate_mbps": 1.0} if kind == "udp" else {}
    load = Background(kind=kind, lead_ms=100, **rate)
    with namespaces() as spaces:
        wire_up(spaces, (), (4, 6))
        with emulated_link(spaces, tmp_path / "link.err") as link:
            network = Network(
                name="made",
                down=Direction(rate_mbps=4, queue_ms=100),
                up=Direction(rate_mbps=4, queue_ms=100),
                family=6,
            )
            link.configure(network, 1)
            with background(spaces, link, [load], 6) as running:
                report = link.report()
                link.passthrough()
                running.stop()
    assert report.down.largest_frame_bytes == 1514
    assert {end.address for end in report.down.far_ends or ()} == {ORIGIN}
