"""The link's answers to the kernels at its ends when packets are too long."""

import errno
import socket
import threading
import time
from typing import Any

import pytest
from test_link_forwarding import ORIGIN_IP, PLAIN, Bed, running_bed

from dragstrip.model.effects import Direction
from dragstrip.model.network import Network
from dragstrip.testbed.net.kernel import forgotten_mtu

IP_MTU_DISCOVER, IP_MTU = 10, 14
NEVER_FRAGMENT, MAY_FRAGMENT = 2, 0
MTU = 1280
BODY = bytes(range(256)) * 1024


@pytest.fixture
def bed(tmp_path_factory: pytest.TempPathFactory):
    # Kernels remember an MTU, so each test has its own namespaces.
    with running_bed(tmp_path_factory.mktemp("link")) as made:
        yield made


def configure(bed: Bed, behaviour: str, *, delay_ms: float = 0) -> None:
    narrow = {"mtu": MTU, "mtu_behaviour": behaviour, "delay_ms": delay_ms}
    bed.configure(down=narrow, up={"delay_ms": delay_ms})


def down(bed: Bed) -> dict[str, Any]:
    report: dict[str, Any] = bed.link.ask("stats", dict[str, Any])["down"]
    return report


@pytest.mark.parametrize("behaviour", ["too-big", "black-hole"])
def test_a_sender_of_datagrams_learns_the_mtu_or_nothing(bed: Bed, behaviour: str) -> None:
    configure(bed, behaviour)
    client, origin = bed.udp()
    with client, origin:
        origin.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, NEVER_FRAGMENT)
        origin.send(bytes(MTU - 28))
        assert len(client.recv(2000)) == MTU - 28
        origin.send(bytes(MTU - 27))
        client.settimeout(0.5)
        with pytest.raises(TimeoutError):
            client.recv(2000)
        told = behaviour == "too-big"
        assert origin.getsockopt(socket.IPPROTO_IP, IP_MTU) == (MTU if told else 1500)
        if told:
            with pytest.raises(OSError, match="Message too long") as error:
                origin.send(bytes(MTU - 27))
            assert error.value.errno == errno.EMSGSIZE
    report = down(bed)
    assert (report["dropped_mtu"], report["told_too_big"]) == (1, int(told))


def test_what_a_kernel_learnt_is_forgotten_before_the_next_visit(bed: Bed) -> None:
    plain = Direction()
    told = Direction(mtu=MTU, mtu_behaviour="too-big")
    for _ in range(2):
        with forgotten_mtu(bed.spaces, Network(name="made", down=told, up=plain)):
            configure(bed, "too-big")
            client, origin = bed.udp()
            with client, origin:
                origin.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, NEVER_FRAGMENT)
                assert origin.getsockopt(socket.IPPROTO_IP, IP_MTU) == 1500
                origin.send(bytes(1400))
                deadline = time.monotonic() + 10
                while origin.getsockopt(socket.IPPROTO_IP, IP_MTU) != MTU:
                    assert time.monotonic() < deadline
                    time.sleep(0.01)


def test_what_may_be_fragmented_gets_no_answer(bed: Bed) -> None:
    configure(bed, "too-big")
    client, origin = bed.udp()
    with client, origin:
        origin.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, MAY_FRAGMENT)
        origin.send(bytes(1400))
        origin.send(b"after")
        assert client.recv(2000) == b"after"
    report = down(bed)
    assert (report["dropped_mtu"], report["told_too_big"]) == (1, 0)


def fetched(bed: Bed, timeout_s: float) -> int:
    """Bytes of `BODY` that came from the origin over TCP."""
    listener = bed.inside("origin", socket.AF_INET, socket.SOCK_STREAM)
    client = bed.inside("client", socket.AF_INET, socket.SOCK_STREAM)
    with listener, client:
        listener.bind((ORIGIN_IP, 0))
        listener.listen()

        def serve() -> None:
            peer, _ = listener.accept()
            with peer:
                peer.settimeout(timeout_s)
                try:
                    peer.sendall(BODY)
                except OSError:
                    return

        server = threading.Thread(target=serve)
        server.start()
        client.settimeout(timeout_s)
        client.connect(listener.getsockname())
        came = 0
        try:
            while came < len(BODY) and (piece := client.recv(1 << 16)):
                assert piece == BODY[came : came + len(piece)]
                came += len(piece)
        except TimeoutError:
            pass
        client.close()
        server.join()
    return came


def test_tcp_that_gets_an_answer_sends_shorter_segments(bed: Bed) -> None:
    configure(bed, "too-big", delay_ms=5)
    assert fetched(bed, 20) == len(BODY)
    report = down(bed)
    assert 1 <= report["told_too_big"] <= 10
    assert report["dropped_mtu"] >= report["told_too_big"]


def test_tcp_behind_a_clamp_never_sends_what_is_too_long(bed: Bed) -> None:
    configure(bed, "clamp", delay_ms=5)
    assert fetched(bed, 20) == len(BODY)
    report = down(bed)
    assert (report["clamped"], report["dropped_mtu"]) == (1, 0)
    assert report["largest_frame_bytes"] == MTU + 14
    assert "clamped" not in bed.link.ask("stats", dict[str, Any])["up"]


def test_tcp_falls_into_a_black_hole(bed: Bed) -> None:
    configure(bed, "black-hole")
    assert fetched(bed, 1) < len(BODY)
    report = down(bed)
    assert report["dropped_mtu"] > 0
    assert report["told_too_big"] == 0


def test_a_behaviour_needs_an_mtu(bed: Bed) -> None:
    with pytest.raises(Exception, match=r"down\.mtu_behaviour is of an mtu: give down\.mtu"):
        bed.link.ask("configure", dict, seed=1, up=PLAIN, down=PLAIN | {"mtu_behaviour": "too-big"})
