"""The link reports what the kernel drops around it, and odd frames do it no harm."""

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_link_forwarding import Bed, received, running_bed, settled

from dragstrip.testbed.net.namespaces import NamespaceName

IPV4 = b"\x08\x00"
MACS = b"\x02\x00\x00\x00\x00\x02\x02\x00\x00\x00\x00\x01"
_SHORT_MTU = 700


@pytest.fixture
def bed(tmp_path: Path) -> Iterator[Bed]:
    with running_bed(tmp_path) as made:
        yield made


def lost(bed: Bed, *, refused: bool = False) -> dict[str, tuple[int, int]]:
    """Packets lost before and behind the link, by direction. A kernel since 6.6 hands back what it
    drops behind it; if the link's own packets are `refused`, failures to send are no drops."""
    told: dict[str, Any] = bed.link.ask("stats", dict[str, Any])
    behind = {
        side: told[side]["lost_behind"]
        + (told[side]["send_failures"] if told[side]["send_retries"] and not refused else 0)
        for side in ("up", "down")
    }
    return {side: (told[side]["lost_before"], behind[side]) for side in ("up", "down")}


def exchange(bed: Bed, small: int, large: int, through: dict[str, int]) -> None:
    """Send short and long packets both ways; `through` says how many of a direction arrive."""
    client, origin = bed.udp()
    with client, origin:
        for sender in (client, origin):
            for size in (*[100] * small, *[1000] * large):
                sender.send(bytes(size))
        received(origin, through["up"])
        received(client, through["down"])
    for side in ("up", "down"):
        settled(bed, side, sent=small)


def test_a_link_that_carries_everything_tells_of_no_loss(bed: Bed) -> None:
    bed.configure(up={"rate_mbps": 100}, down={"delay_ms": 3})
    exchange(bed, small=20, large=20, through={"up": 40, "down": 40})
    assert lost(bed) == {"up": (0, 0), "down": (0, 0)}


@pytest.mark.parametrize(
    ("where", "interface", "hit"),
    [
        ("link", "client", {"up": (20, 0), "down": (0, 0)}),
        ("link", "origin", {"up": (0, 0), "down": (20, 0)}),
        ("client", "eth0", {"up": (0, 0), "down": (0, 20)}),
        ("origin", "eth0", {"up": (0, 20), "down": (0, 0)}),
    ],
)
def test_packets_that_an_interface_drops_are_reported_by_direction_and_side(
    bed: Bed, where: NamespaceName, interface: str, hit: dict[str, tuple[int, int]]
) -> None:
    """The receiving end takes only short frames, so the kernel drops the others on the way."""
    bed.spaces.configure(where, [f"link set {interface} mtu {_SHORT_MTU}"])
    bed.configure()
    # An end's own long packets leave in pieces. The link's are refused, and it says so.
    whole = {"client": "up", "origin": "down", "link": ""}[where]
    through = {side: 40 if side == whole else 20 for side in ("up", "down")}
    exchange(bed, small=20, large=20, through=through)
    assert lost(bed, refused=where == "link") == hit
    bed.configure()
    assert lost(bed) == {"up": (0, 0), "down": (0, 0)}


@pytest.mark.parametrize(
    "line",
    [
        {"trace": {"name": "made", "steps": [(0, 0), (0.02, 8), (1000, 0)]}},
        {"trace": {"name": "made", "opportunities_ms": [20, 21]}},
        {
            "rate_mbps": 8,
            "aqm": {
                "kind": "fq_codel", "target_ms": 5, "interval_ms": 100, "ecn": True, "flows": 1,
                "quantum_bytes": 1,
            },
        },
    ],
)  # fmt: skip
def test_frames_without_a_whole_ip_header_pass_like_others(bed: Bed, line: dict[str, Any]) -> None:
    bed.configure(up={**line, "jitter_ms": 1, "delay_ms": 1})
    sender = bed.inside("client", socket.AF_PACKET, socket.SOCK_RAW)
    receiver = bed.inside("origin", socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    frames = [MACS + IPV4 + bytes([0x4F] * size) for size in (0, 1, 2, 19, 20, 39)]
    with sender, receiver:
        for end in (sender, receiver):
            end.bind(("eth0", 0x0800))
        for frame in frames:
            sender.send(frame)
        came = [receiver.recv(2000) for _ in frames]
    assert [frame[:14] for frame in came] == [MACS + IPV4] * len(frames)
    report = settled(bed, "up", sent=len(frames))
    assert report["packets_out"] == len(frames)
    assert report["bytes_out"] == sum(len(frame) - 14 for frame in frames)
