"""Converts a kept qlog to the current draft: JSON text sequences, one file per connection.

The drafts are draft-ietf-quic-qlog-main-schema-14, section QlogFileSeq, and
draft-ietf-quic-qlog-quic-events-13, both of 6 July 2026. A connection over TCP has the same metrics
in our own namespace, because the drafts have none for TCP: docs/reference/qlog-tcp.cddl.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from dragstrip.version import __version__

QUIC_SCHEMA = "urn:ietf:params:qlog:events:quic-13"
TCP_SCHEMA = "urn:uuid:6f0e7d1c-5f1f-4f0b-8f5e-0b6a8d6f2f10#tcp-1"
_EVENTS = {
    "transport:packet_sent": "packet_sent",
    "transport:packet_received": "packet_received",
    "recovery:packet_lost": "packet_lost",
    "recovery:metrics_updated": "recovery_metrics_updated",
}
_RAW = frozenset({"packet_sent", "packet_received"})
"""Events that have a field for the length of the whole packet."""
_RECORD = b"\x1e"


def sequences(kept: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield each connection of a file that `dragstrip.visit.qlog.keep_qlog` wrote: its id, and its
    text sequence (RFC 7464)."""
    whole = msgspec.json.decode(kept)
    for trace in whole["traces"]:
        common = trace["common_fields"]
        quic = "QUIC" in common["protocol_type"]
        records = [_head(whole["title"], trace, quic=quic)]
        records += [_event(event, quic=quic) for event in trace["events"]]
        text = b"".join(_RECORD + msgspec.json.encode(each) + b"\n" for each in records)
        yield common["group_id"], text


def _head(title: str, trace: Mapping[str, Any], *, quic: bool) -> dict[str, Any]:
    common = trace["common_fields"]
    epoch = datetime.fromtimestamp(common["reference_time"] / 1000, UTC)
    return {
        "file_schema": "urn:ietf:params:qlog:file:sequential",
        "serialization_format": "application/qlog+json-seq",
        "title": f"{title}, {trace['title']}",
        "description": f"dragstrip {__version__}; time 0 is the start of the navigation",
        "trace": {
            "common_fields": {
                "group_id": common["group_id"],
                "time_format": "relative_to_epoch",
                "reference_time": {
                    "clock_type": "system",
                    "epoch": epoch.isoformat(timespec="microseconds").replace("+00:00", "Z"),
                },
            },
            "vantage_point": trace["vantage_point"],
            "event_schemas": [QUIC_SCHEMA if quic else TCP_SCHEMA],
        },
    }


def _event(event: Mapping[str, Any], *, quic: bool) -> dict[str, Any]:
    name = _EVENTS[event["name"]]
    data = dict(event["data"])
    if "header" in data:
        # quinn gives the length of the whole packet, for which the header has no field.
        header = dict(data["header"])
        length = header.pop("length", None)
        data["header"] = header
        if name in _RAW and length is not None:
            data["raw"] = {"length": length}
    namespace = "quic" if quic else "tcp"
    return {"time": round(event["time"], 6), "name": f"{namespace}:{name}", "data": data}
