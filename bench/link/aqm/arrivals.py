"""Arrivals at a queue: recorded by the link in virtual time, or made from a seed."""

import random
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import structs

import dragstrip
from dragstrip.model.aqm import Aqm, Pie
from dragstrip.model.background import Background
from dragstrip.model.network import Network
from dragstrip.model.study import Client
from dragstrip.study.clients import loaded_by
from dragstrip.study.presets import find_stack
from dragstrip.study.spec import StudySpec

RATE_MBPS, RTT_MS = 20.0, 20.0
LEAD_MS = 5000.0
LOADS, LASTS_S = (0.8, 1.2, 0.9, 2.0, 0.6, 1.5), 2.0
"""What comes in turn, as shares of the line's rate, and how long each lasts."""
FULL = 1500
NOT_ECT, ECT1, ECT0 = 0, 1, 2
PAGE = "synth:12x20KB"
THREE = "three of CUBIC"
_BULK = Background(kind="tcp", congestion="cubic", flows=3, lead_ms=LEAD_MS)
CHANGING = "changing load"

Packet = tuple[int, int, int, int]
"""ns of its arrival, flow, code point of ECN, and bytes of the IP packet."""


def arrivals(folder: Path) -> dict[str, list[Packet]]:
    return {THREE: recorded(folder / "recorded", Pie(ecn=False)), CHANGING: list(changing())}


def changing() -> Iterator[Packet]:
    """Full packets of four senders that do not slow down, at random times; two senders are
    scalable."""
    draw, at_s = random.Random(59), 0.0
    while at_s < LASTS_S * len(LOADS):
        load = LOADS[int(at_s / LASTS_S)]
        at_s += draw.expovariate(RATE_MBPS * load / (FULL + 14) / 8e-6)
        flow = draw.randrange(4)
        yield round(at_s * 1e9), flow, (ECT0, ECT1)[flow % 2], FULL


def recorded(out: Path, aqm: Aqm) -> list[Packet]:
    """What came to the link's queue downstream while a page was loaded beside bulk flows."""
    link = f"{RATE_MBPS:g}mbit/{RATE_MBPS:g}mbit/{RTT_MS / 2:g}ms/0%/300ms"
    plain = Network.parse(link)
    network = structs.replace(
        plain, name="recorded", down=structs.replace(plain.down, aqm=aqm), background=(_BULK,)
    )
    study = StudySpec(
        name=out.name,
        pages=[PAGE],
        networks=[network],
        stacks=loaded_by([find_stack("h2"), find_stack("h3")], "loader"),
        runs=1,
        seed=59,
        client=Client(timeout_s=60, pcap=True),
        controls=False,
    ).resolve(out.parent / "pages")
    one = structs.replace(study, stacks=study.stacks[:1], reruns=0)
    dragstrip.run(one, out=out, virtual=True, computing=False)
    (capture,) = out.glob("pcap/*.pcapng")
    return packets(capture)


_FIELDS = "frame.time_epoch ip.len ip.dsfield.ecn tcp.dstport udp.dstport tcp.srcport udp.srcport"


def packets(capture: Path) -> list[Packet]:
    fields = [word for field in _FIELDS.split() for word in ("-e", field)]
    command = ["tshark", "-r", capture, "-Y", 'frame.interface_name == "down" && ip']
    said = subprocess.run([*command, "-T", "fields", *fields], capture_output=True, check=True)
    return list(read(said.stdout.decode().splitlines()))


def read(lines: Sequence[str]) -> Iterator[Packet]:
    flows: dict[tuple[str, ...], int] = {}
    start = None
    for line in lines:
        when, size, ecn, *ports = line.split("\t")
        seconds, _, fraction = when.partition(".")
        at_ns = int(seconds) * 1_000_000_000 + int(fraction.ljust(9, "0"))
        start = at_ns if start is None else start
        flow = flows.setdefault(tuple(ports), len(flows))
        yield at_ns - start, flow, int(ecn, 0), int(size)
