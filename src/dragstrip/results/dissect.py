"""Dissects a visit's capture into connections, handshakes, first flights and protocol shares.

cook2017 (section 4) analyses its captures this way. All results come from the packets alone, not
from reports of browser or origin.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from dragstrip.model.visit import Visit
from dragstrip.model.wire import Dissection, FirstFlight, Flow, UnvalidatedTraffic
from dragstrip.results.packets import (
    Packet,
    read_capture,
    read_packets,
    tshark_version,
    write_packets,
)

_HANDSHAKE, _RETRY = 2, 3
"""Types of QUIC packets with long headers (RFC 9000 section 17.2)."""
PACED_SHARE = 0.1
"""Share of a round trip: a first flight that takes longer, without its longest gap, was paced. A
burst takes some tenths of a millisecond, but may follow the session tickets after a gap. The kernel
paces at two windows per round trip, which takes half a round trip minus the first ten packets."""


def captured(capsule: Path, visit: Visit) -> bool:
    return _capture(capsule, visit).exists()


def dissection(capsule: Path, visit: Visit) -> Dissection:
    """Return the dissection of a captured visit, made at the first call.

    The dissection is kept in ``wire/VISIT.json``. ``wire/VISIT.parquet`` has one row per packet.
    Raises `NoTshark`, and `InputError` if the capture cannot be read.
    """
    target = capsule / "wire" / f"{visit.file_name}.json"
    if not target.exists():
        found = read_capture(_capture(capsule, visit), visit.started_us)
        target.parent.mkdir(exist_ok=True)
        write_packets(target.with_suffix(".parquet"), found)
        missed = visit.link.record_missed if visit.link else 0
        made = dissect(found, visit.id, missed, tshark_version())
        target.write_bytes(msgspec.json.format(msgspec.json.encode(made)))
    return msgspec.json.decode(target.read_bytes(), type=Dissection)


def packets(capsule: Path, visit: Visit) -> list[Packet]:
    """Return a captured visit's packets. Raises as `dissection` does."""
    dissection(capsule, visit)
    return read_packets(capsule / "wire" / f"{visit.file_name}.parquet")


def dissect(
    found: Sequence[Packet], visit: str = "", missed: int = 0, tool: str = ""
) -> Dissection:
    """Dissect these packets, which are sorted by time."""
    flows = [flow(mine) for mine in by_flow(found).values()]
    sent, counted = Counter[str](), Counter[str]()
    for f in flows:
        name = f.protocol or f.id.partition("-")[0]
        sent[name] += f.bytes_up + f.bytes_down
        counted[name] += f.packets_up + f.packets_down
    return Dissection(
        visit=visit,
        flows=tuple(flows),
        connections_per_host=dict(Counter(f.host for f in flows if f.host)),
        byte_share=_shares(sent),
        packet_share=_shares(counted),
        missed_packets=missed,
        tool=tool,
    )


def by_flow(found: Iterable[Packet]) -> dict[str, list[Packet]]:
    """Group packets by connection. Connections are in the order of their first packets."""
    flows: dict[str, list[Packet]] = {}
    for packet in found:
        flows.setdefault(packet.flow, []).append(packet)
    return flows


def flow(mine: Sequence[Packet]) -> Flow:
    """Describe a connection from its packets. There must be at least one packet."""
    up = [p for p in mine if p.side == "up"]
    down = [p for p in mine if p.side == "down"]
    asked = next((i for i, p in enumerate(mine) if p.requests), None)
    return Flow(
        id=mine[0].flow,
        protocol=next((p.protocol for p in mine if p.protocol), None),
        host=next((p.host for p in mine if p.host), None),
        client=mine[0].client,
        server=mine[0].server,
        start_ms=mine[0].time_ms,
        end_ms=mine[-1].time_ms,
        packets_up=len(up),
        packets_down=len(down),
        bytes_up=sum(p.bytes for p in up),
        bytes_down=sum(p.bytes for p in down),
        link_drops=sum(p.left_ms is None for p in mine),
        retransmitted=_repeats(up) + _repeats(down) if mine[0].flags is not None else None,
        requests=sum(len(p.requests) for p in mine),
        first_request_ms=None if asked is None else mine[asked].time_ms,
        packets_before_request=asked,
        first_flight=None if asked is None else first_flight(mine),
        unvalidated=unvalidated(mine),
    )


def unvalidated(mine: Sequence[Packet]) -> UnvalidatedTraffic | None:
    """Count what both ends of a QUIC connection sent until the server knew the client's address.
    None for other connections.

    A packet of the client that is protected with Handshake keys shows it, and so does a token. Both
    are in clear. A packet counts when it was due at the server, or left it.
    """
    if not any(p.long_headers for p in mine):
        return None
    received = sent = 0
    most, token = 0.0, False
    for packet in sorted(mine, key=lambda p: (_at_origin_ms(p), p.side == "down")):
        if packet.side == "down":
            sent += packet.payload
            most = max(most, sent / received) if received else most
            continue
        if packet.left_ms is None:
            continue
        token = packet.token
        if token or _HANDSHAKE in packet.long_headers:
            break
        received += packet.payload
    return UnvalidatedTraffic(
        received_bytes=received,
        sent_bytes=sent,
        most_times=most,
        retried=any(_RETRY in p.long_headers for p in mine),
        by_token=token,
    )


def _at_origin_ms(packet: Packet) -> float:
    late = packet.due_ms if packet.due_ms is not None else packet.left_ms
    return packet.time_ms if packet.side == "down" or late is None else late


def first_flight(mine: Sequence[Packet]) -> FirstFlight | None:
    """Return the first flight of packets; None if no request, answer or acknowledgement was seen.

    Every packet that the client sends after the answer's first packet was due at the client counts
    as the acknowledgement, so no packet needs decryption. The due time is used because both ends
    may answer before the link reads its clock.
    """
    arrived = (p.due_ms for p in mine if p.requests)
    asked_ms = next((ms for ms in arrived if ms is not None), None)
    if asked_ms is None:
        return None
    answer = [p for p in mine if p.side == "down" and p.payload and p.time_ms >= asked_ms]
    seen_ms = next((p.due_ms for p in answer if p.due_ms is not None), None)
    if seen_ms is None:
        return None
    acks = (p.due_ms for p in mine if p.side == "up" and p.time_ms >= seen_ms)
    ack_ms = next((ms for ms in acks if ms is not None), None)
    if ack_ms is None:
        return None
    flight = [p for p in answer if p.time_ms < ack_ms]
    start_ms, end_ms = flight[0].time_ms, flight[-1].time_ms
    gaps = tuple(b.time_ms - a.time_ms for a, b in pairwise(flight))
    return FirstFlight(
        packets=len(flight),
        bytes=sum(p.bytes for p in flight),
        start_ms=start_ms,
        duration_ms=end_ms - start_ms,
        acknowledged_ms=ack_ms - start_ms,
        gaps_ms=gaps,
        paced=end_ms - start_ms - max(gaps, default=0) > PACED_SHARE * (ack_ms - start_ms),
    )


def _repeats(side: Sequence[Packet]) -> int:
    """Count the TCP segments that begin below data already sent. No segment is reordered at the
    link's near end, where the packets were recorded."""
    top, repeats = 0, 0
    for p in side:
        if p.payload and p.seq is not None:
            repeats += p.seq < top
            top = max(top, p.seq + p.payload)
    return repeats


def _shares(counts: Counter[str]) -> dict[str, float]:
    total = counts.total()
    return {name: count / total for name, count in counts.most_common()}


def _capture(capsule: Path, visit: Visit) -> Path:
    return capsule / "pcap" / f"{visit.file_name}.pcapng"
