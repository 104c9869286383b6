"""Describes the columns of a capsule's tables, using the model's own docstrings.

Columns and their descriptions both come from the types of `dragstrip.model.visit`, so a new field
brings its description along. The unit comes from the column's name.
"""

import re
from collections.abc import Mapping

import polars as pl

from dragstrip.model import effects
from dragstrip.model import visit as model
from dragstrip.results.tables.build import KEYS, NESTED
from dragstrip.results.tables.docstrings import docstrings
from dragstrip.visit.metrics import METRICS

_UNITS = (
    ("_ms$", "milliseconds"),
    ("_us$", "microseconds"),
    ("_s$", "seconds"),
    ("_mbps$", "Mbit/s"),
    ("_mhz$", "MHz"),
    ("(_|^)bytes(_|$)", "bytes"),
    ("(_|^)(packets|dropped|queued)(_|$)|ring_drops|send_failures", "packets"),
    ("lost_(before|behind)|burst_(trials|lost)", "packets"),
    ("_share(_|$)|realised_loss|^utilisation$|^down_overhead$", "share of 1"),
)
"""Pairs of a pattern and a unit. The first pattern that matches a column's name gives the column's
unit."""

_WORDS = {
    "page": "Name of the page.",
    "network": "Name of the network.",
    "stack": "Name of the stack.",
    "started_us": "Unix time of the navigation's start.",
    "outcome": "What the stack did: loaded, incomplete (the network lost objects of the page), "
    "failed or timeout.",
    "fingerprint": "Of all that the stack is, but its name.",
    "description": "What the stack is, in words.",
    "also_differs": "What differs from the first stack besides the protocol; empty if nothing.",
    "valid": "Whether every check of the verdict passed.",
    "protocol": "Such as h2.",
    "fcp_ms": "First contentful paint, from the navigation's start.",
    "requests": "How many requests the browser made.",
    "served": "How many requests the origin logged.",
    "wire_bytes": "Encoded bytes received, headers and bodies, as the browser counts them.",
    "protocol_share_h1": "Share of answered requests over HTTP/1.1.",
    "protocol_share_h2": "Share of answered requests over HTTP/2.",
    "protocol_share_h3": "Share of answered requests over HTTP/3.",
    "protocol_share_gquic": "Share of answered requests over Google's QUIC.",
    "protocol_share_spdy": "Share of answered requests over SPDY.",
    "origin_cpu_s": "CPU time of the server.",
    "speed_index_ms": "SpeedIndex: the area above the curve of visual completeness.",
    "vc85_ms": "When the picture was first 85 % complete.",
    "steal_share": "Share of CPU time the hypervisor took away.",
    "lateness_p50_us": "Median of actual minus ideal departure of the link's packets.",
    "lateness_p99_us": "99th percentile of actual minus ideal departure of the link's packets.",
    "lateness_max_us": "Greatest actual minus ideal departure of the link's packets.",
    **{count.field: f"Packets {count.words}." for count in effects.COUNTS},
    "queue_p99_ms": "99th percentile of the wait in the queue.",
    "queue_max_ms": "Longest wait in the queue.",
    "packets_in": "IP packets that came to the link.",
    "packets_out": "IP packets that left the link.",
    "bytes_in": "Layer 3 bytes that came to the link.",
    "bytes_out": "Layer 3 bytes that left the link.",
    "wall_ms": "Time the host was watched.",
    "id": "The origin's id of the connection.",
    "paced": "Whether the origin paced its packets.",
    "window_packets": "Congestion window at the end.",
    "rtt_ms": "Smoothed round trip at the end, as the origin measured it.",
    "min_rtt_ms": "Least round trip the origin measured.",
    "sent_bytes": "Bytes the origin sent, retransmissions included.",
    "sent_packets": "Packets the origin sent, retransmissions included.",
    "delivered_packets": "Packets the client acknowledged.",
    "retransmitted_packets": "Packets sent again; of TCP only.",
    "congestion_events": "How often the window was cut; of QUIC only.",
    "url": "The URL asked for.",
    "host": "The host asked for.",
    "method": "HTTP method.",
    "status": "HTTP status; 0 without an answer.",
    "mime": "Media type of the answer.",
    "priority": "The browser's priority of the request.",
    "reused": "Whether the request used a connection that was already open.",
    "remote_ip": "Address that answered.",
    "from_cache": "Whether a cache answered.",
    "client_port": "Port of the browser's end.",
    "resumed": "Whether the connection resumed a TLS session.",
    "body_bytes": "Body bytes of the answer.",
    "dns_start_ms": "Name lookup began.",
    "dns_end_ms": "Name lookup ended.",
    "connect_start_ms": "The connection's handshake began.",
    "connect_end_ms": "The connection's handshake ended, TLS included.",
    "tls_start_ms": "TLS handshake began.",
    "send_start_ms": "First byte of the request sent.",
    "send_end_ms": "Last byte of the request sent.",
    "response_start_ms": "First byte of the answer received.",
    "end_ms": "Last byte of the answer received.",
}
"""Meanings of columns whose field has no docstring in the model."""

_TABLE_RECORD = {
    "visits": "Visit",
    "requests": "Request",
    "served": "Served",
    "connections": "Connection",
}


def describe(tables: Mapping[str, pl.DataFrame]) -> pl.DataFrame:
    """Return one row per column: table, column, type, unit (empty without one), meaning."""
    rows = [
        {
            "table": table,
            "column": name,
            "type": str(kind),
            "unit": unit(name),
            "meaning": meaning(table, name),
        }
        for table, frame in tables.items()
        for name, kind in frame.schema.items()
    ]
    return pl.DataFrame(rows)


def unit(column: str) -> str:
    return next((words for pattern, words in _UNITS if re.search(pattern, column)), "")


def meaning(table: str, column: str) -> str:
    """Describe a column in a sentence or two; empty if unknown."""
    keys = {name: said for name, said in _docs()["Visit"].items() if name in KEYS}
    own = {**_WORDS, **keys, **_docs().get(_TABLE_RECORD.get(table, ""), {})}
    if table == "visits":
        own = {m.name: f"Metric: {m.meaning}." for m in METRICS} | own
    if column in own:
        return own[column]
    nested = [name for name in NESTED if column.startswith(f"{name}_")]
    if not nested:
        return ""
    record = max(nested, key=len)
    name = column.removeprefix(f"{record}_")
    return _docs()[NESTED[record].__name__].get(name) or _WORDS.get(name, "")


def _docs() -> Mapping[str, Mapping[str, str]]:
    own = docstrings(model)
    counted = docstrings(effects)["Counters"]
    return {**own, "DirectionReport": {**counted, **own["DirectionReport"]}}
