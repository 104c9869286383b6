"""Writes the origin's qlog of a visit: one file, with one trace per connection, on the visit's
clock.

The format is qlog 0.3 (draft-ietf-quic-qlog-main-schema-02, draft-ietf-quic-qlog-quic-events-01),
which qvis reads. For QUIC connections the file has everything that the library reports, for TCP
connections the windows that the kernel reports. The origin writes one JSON text sequence (RFC 7464)
per connection. This module changes three things in what the origin wrote. Times counted from the
connection's start; round trips were in seconds although the draft requires milliseconds; the name
of the writing end was missing.
"""

from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from dragstrip.model.visit import Connection, Visit
from dragstrip.version import __version__

_RECORD = b"\x1e"
_ROUND_TRIPS = ("min_rtt", "smoothed_rtt", "latest_rtt", "rtt_variance")

_PROTOCOLS = {"h1": ["TCP", "HTTP1"], "h2": ["TCP", "HTTP2"], "h3": ["QUIC", "HTTP3"]}

QlogTrace = dict[str, Any]


class Window(NamedTuple):
    """State of a connection's sending side at a time in ms since the navigation's start."""

    time_ms: float
    window_bytes: int | None
    in_flight_bytes: int | None


def keep_qlog(folder: Path, visit: Visit, target: Path) -> None:
    """Merge the connections' files in `folder` into ``target.qlog``, if there are any."""
    written = ((c, folder / f"{c.id}.sqlog") for c in visit.connections)
    traces = [trace(path.read_bytes(), c, visit) for c, path in written if path.exists()]
    if not traces:
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    whole = {
        "qlog_version": "0.3",
        "qlog_format": "JSON",
        "title": visit.id,
        "description": f"dragstrip {__version__}",
        "traces": traces,
    }
    Path(f"{target}.qlog").write_bytes(msgspec.json.encode(whole))


def trace(sequence: bytes, connection: Connection, visit: Visit) -> QlogTrace:
    """Read one connection's trace; times are ms since the navigation's start and may be
    negative."""
    shift_ms = (connection.t_us - visit.started_us) / 1000
    _, *records = (r for r in sequence.split(_RECORD) if r.endswith(b"\n"))  # the head, and events
    events = [_corrected(msgspec.json.decode(r), shift_ms) for r in records]
    return {
        "title": f"{connection.host}, connection {connection.id}",
        "vantage_point": {"name": "dragstrip-origin", "type": "server"},
        "common_fields": {
            "group_id": str(connection.id),
            "protocol_type": _PROTOCOLS.get(connection.protocol or "", ["TCP"]),
            "time_format": "relative",
            "reference_time": visit.started_us / 1000,
        },
        "events": events,
    }


def read_windows(source: Path) -> dict[int, list[Window]]:
    """Read each connection's windows from a file that `keep_qlog` wrote. The keys are connection
    ids."""
    windows: dict[int, list[Window]] = {}
    for each in msgspec.json.decode(source.read_bytes())["traces"]:
        window = flying = None
        mine = windows.setdefault(int(each["common_fields"]["group_id"]), [])
        for event in each["events"]:
            if event["name"] == "recovery:metrics_updated":  # only changes are written
                window = event["data"].get("congestion_window", window)
                flying = event["data"].get("bytes_in_flight", flying)
                mine.append(Window(event["time"], window, flying))
    return windows


def _corrected(event: dict[str, Any], shift_ms: float) -> dict[str, Any]:
    data = event["data"]
    del event["group_id"]  # the client's connection id, which Chromium leaves empty
    in_ms = {name: data[name] * 1000 for name in _ROUND_TRIPS if name in data}
    return event | {"time": event["time"] + shift_ms, "data": data | in_ms}
