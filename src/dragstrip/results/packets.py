"""A visit's packets as a table, read from its capture by tshark (https://www.wireshark.org).

tshark parses five protocols more reliably than our own parsers would, and reads the keys from the
capture.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal

import polars as pl
from msgspec import Struct, structs

from dragstrip.model.errors import InputError
from dragstrip.model.family import place
from dragstrip.model.stack import Protocol

_FIELDS = (
    "frame.time_epoch frame.len frame.interface_name frame.comment frame.protocols ip.src ip.dst "
    "ipv6.src ipv6.dst "
    "tcp.stream tcp.srcport tcp.dstport tcp.seq tcp.ack tcp.len tcp.flags "
    "udp.stream udp.srcport udp.dstport udp.length tls.handshake.extensions_server_name "
    "http.request.uri http2.streamid http2.type http2.length http2.headers.path "
    "quic.stream.stream_id quic.stream_data quic.long.packet_type quic.token_length"
).split()
_MANY = "\x1f"
"""Separator between the values of a field that occurs several times in a packet."""
_ETHERNET, _UDP = 14, 8
_H2_DATA, _H2_HEADERS = "0", "1"
_LEFT = re.compile(r"due ([\d.]+) ms after its arrival, left ([\d.]+) ms later")


class Packet(Struct, frozen=True, kw_only=True):
    """One packet; a row of ``wire/VISIT.parquet``. Times are ms from the navigation's start."""

    time_ms: float
    """When the packet reached the link."""
    left_ms: float | None
    """When the packet left the link; None if it was dropped. The link reads its clock after
    sending, so the other end may have answered earlier."""
    due_ms: float | None
    """When the packet was due to leave the link; never later than `left_ms`."""
    side: Literal["up", "down"]
    flow: str
    """The packet's flow: `tcp-N` or `udp-N`, with tshark's number."""
    client: str
    server: str
    """Address and port of the server."""
    bytes: int
    """Length in bytes, layer 3."""
    payload: int
    """Bytes of TCP or UDP payload."""
    seq: int | None = None
    ack: int | None = None
    """TCP's acknowledgement number, relative to the connection's first byte."""
    flags: int | None = None
    """TCP's flags."""
    host: str | None = None
    """The name that the client asked for, in the packet that completes a ClientHello."""
    protocol: Protocol | None = None
    """Protocol of the packet; None if the packet does not show it."""
    streams: list[int] = []
    """Streams of the DATA (h2) or STREAM (h3) frames that end in this packet, only of requests."""
    stream_bytes: list[int] = []
    """Bytes in the frames of `streams`."""
    requests: list[int] = []
    """Streams whose request begins in this packet; over h1, 0 for each request."""
    paths: list[str] = []
    """Paths of the requests; tshark 4.0 cannot read those of h3."""
    long_headers: list[int] = []
    """Types of the QUIC packets with long headers in the datagram: 0 Initial, 1 0-RTT, 2 Handshake,
    3 Retry (RFC 9000 section 17.2)."""
    token: bool = False
    """Whether one of them is an Initial packet with a token."""

    @property
    def at_origin_ms(self) -> float | None:
        return self.time_ms if self.side == "down" else self.left_ms


class NoTshark(InputError):
    """Raised if captures cannot be read on this machine."""


def read_capture(capture: Path, started_us: int) -> list[Packet]:
    """Read all TCP and UDP packets of a visit that began at `started_us`, sorted by `time_ms`.

    Raises `NoTshark`, and `InputError` if tshark cannot read the file.
    """
    if not shutil.which("tshark"):
        raise NoTshark("packets cannot be read: tshark is missing, apt-get install tshark")
    fields = [argument for name in _FIELDS for argument in ("-e", name)]
    done = subprocess.run(
        ["tshark", "-n", "-r", str(capture), "-T", "fields", "-E", f"aggregator={_MANY}", *fields],
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise InputError(f"tshark cannot read {capture}: {done.stderr.strip().splitlines()[-1]}")
    rows = (dict(zip(_FIELDS, line.split("\t"), strict=True)) for line in done.stdout.splitlines())
    return list(_packets(rows, started_us))


def tshark_version() -> str:
    done = subprocess.run(["tshark", "--version"], capture_output=True, text=True)
    return done.stdout.partition("\n")[0].partition(" (Git")[0]


def write_packets(target: Path, packets: Iterable[Packet]) -> None:
    rows = [structs.asdict(packet) for packet in packets]
    pl.DataFrame(rows, schema=_SCHEMA).write_parquet(target)


def read_packets(source: Path) -> list[Packet]:
    """Read the packets that `write_packets` wrote."""
    return [Packet(**row) for row in pl.read_parquet(source).iter_rows(named=True)]


_SCHEMA: dict[str, Any] = {
    "time_ms": pl.Float64,
    "left_ms": pl.Float64,
    "due_ms": pl.Float64,
    **dict.fromkeys(("side", "flow", "client", "server"), pl.String),
    **dict.fromkeys(("bytes", "payload", "seq", "ack", "flags"), pl.Int64),
    **dict.fromkeys(("host", "protocol"), pl.String),
    **dict.fromkeys(("streams", "stream_bytes", "requests"), pl.List(pl.Int64)),
    "paths": pl.List(pl.String),
    "long_headers": pl.List(pl.Int64),
    "token": pl.Boolean,
}


def _packets(rows: Iterable[dict[str, str]], started_us: int) -> Iterator[Packet]:
    begun: set[tuple[str, int]] = set()
    for row in rows:
        kind = "tcp" if row["tcp.stream"] else "udp"
        if not row[f"{kind}.stream"] or "(copy)" in row["frame.comment"]:
            continue  # a packet of no connection, or made by the link
        whole, _, part = row["frame.time_epoch"].partition(".")
        time_ms = (int(whole) - started_us // 1_000_000) * 1000 + (
            float(f"0.{part}") * 1000 - started_us % 1_000_000 / 1000
        )
        left = _LEFT.search(row["frame.comment"])
        up = row["frame.interface_name"] == "up"
        ends = [_place(row, kind, end) for end in ("src", "dst")]
        flow = f"{kind}-{row[f'{kind}.stream']}"
        http = _http(row, up=up)
        fresh = [s for s in http.requests if (flow, s) not in begun]
        begun.update((flow, s) for s in http.requests if http.protocol == "h3")
        yield Packet(
            time_ms=time_ms,
            left_ms=time_ms + float(left[1]) + float(left[2]) if left else None,
            due_ms=time_ms + float(left[1]) if left else None,
            side="up" if up else "down",
            flow=flow,
            client=ends[0 if up else 1],
            server=ends[1 if up else 0],
            bytes=int(row["frame.len"]) - _ETHERNET,
            payload=int(row["tcp.len"]) if kind == "tcp" else int(row["udp.length"]) - _UDP,
            seq=_number(row["tcp.seq"]),
            ack=_number(row["tcp.ack"]),
            flags=int(row["tcp.flags"], 16) if row["tcp.flags"] else None,
            host=row["tls.handshake.extensions_server_name"] or None,
            protocol=http.protocol,
            streams=http.streams,
            stream_bytes=http.stream_bytes,
            requests=fresh,
            paths=http.paths,
            long_headers=[int(kind) for kind in _many(row["quic.long.packet_type"])],
            token=any(int(length) for length in _many(row["quic.token_length"])),
        )


def _place(row: dict[str, str], kind: str, end: str) -> str:
    """Return address and port of one end. An ICMP error quotes addresses too: the first
    are its own."""
    address = row[f"ip.{end}"] or row[f"ipv6.{end}"]
    return place(address.partition(_MANY)[0], int(row[f"{kind}.{end}port"]))


class _Http(Struct, frozen=True, kw_only=True):
    """The HTTP fields of a packet."""

    protocol: Protocol | None = None
    streams: list[int] = []
    stream_bytes: list[int] = []
    requests: list[int] = []
    paths: list[str] = []


def _http(row: dict[str, str], *, up: bool) -> _Http:
    layers = row["frame.protocols"].split(":")
    if "quic" in layers:
        # A client's own two-way streams, and so its requests, have numbers divisible by four.
        frames = zip(
            _many(row["quic.stream.stream_id"]), _many(row["quic.stream_data"]), strict=False
        )
        found = [(int(s), len(data) // 2) for s, data in frames if int(s) % 4 == 0]
        streams = [s for s, _ in found]
        return _Http(
            protocol="h3",
            streams=streams,
            stream_bytes=[size for _, size in found],
            requests=list(dict.fromkeys(streams)) if up else [],
        )
    if "http2" in layers:
        names = ("http2.type", "http2.streamid", "http2.length")
        h2 = list(zip(*(_many(row[name]) for name in names), strict=False))
        data = [(int(s), int(size)) for kind, s, size in h2 if kind == _H2_DATA]
        return _Http(
            protocol="h2",
            streams=[s for s, _ in data],
            stream_bytes=[size for _, size in data],
            requests=[int(s) for kind, s, _ in h2 if kind == _H2_HEADERS] if up else [],
            paths=_many(row["http2.headers.path"]) if up else [],
        )
    if "http" in layers:
        paths = _many(row["http.request.uri"])
        return _Http(protocol="h1", requests=[0] * len(paths), paths=paths)
    return _Http()


def _many(text: str) -> list[str]:
    return text.split(_MANY) if text else []


def _number(text: str) -> int | None:
    return int(text) if text else None
