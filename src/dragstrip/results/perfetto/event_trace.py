"""Writes a trace of track events in Perfetto's protobuf form.

https://perfetto.dev/docs/reference/synthetic-track-event describes the form: packets that describe
tracks, then events on the tracks. The numbers here are field numbers of Perfetto's
protos/perfetto/trace: trace_packet.proto, track_descriptor.proto, track_event.proto and
debug_annotation.proto. Tests read the written traces with the messages that Perfetto's own Python
package has.
"""

import struct
from collections.abc import Iterable, Mapping
from typing import NewType

Track = NewType("Track", int)
Value = str | int | float | bool | None

_SEQUENCE = 1
_BEGIN, _END, _INSTANT, _COUNTER = 1, 2, 3, 4
_INCREMENTAL_STATE_CLEARED = 1
_EXPLICIT_ORDER = 3
_NEVER_MERGED = 2


class EventTrace:
    """Collects tracks and events; `encoded` returns the file. Times are ns of one clock."""

    def __init__(self) -> None:
        self._descriptors: list[bytes] = []
        self._events: list[tuple[int, int, bytes]] = []
        self._ranks: dict[int, int] = {}

    def track(self, name: str, parent: Track | None = None) -> Track:
        """Add a track below those that its parent already has."""
        return self._track(name, parent, b"")

    def counter(self, name: str, unit: str, parent: Track | None = None) -> Track:
        """Add a track of values in a unit."""
        kind = _message(8, _text(6, unit))
        return self._track(name, parent, kind)

    def span(
        self,
        track: Track,
        name: str,
        start_ns: int,
        end_ns: int,
        facts: Mapping[str, Value] | None = None,
        flow: int | None = None,
    ) -> None:
        """Add something that lasts, or an instant if its start is its end. On one track, spans nest
        or follow each other. Arrows join the spans of one `flow`."""
        body = _text(23, name) + _facts(facts or {})
        body += b"" if flow is None else _tag(47, 1) + struct.pack("<Q", flow)
        length_ns = end_ns - start_ns
        if length_ns <= 0:
            self._event(start_ns, 1, track, _INSTANT, body)
            return
        # Order of events at one time: first those that end, the shortest first; then those that
        # begin, the longest first.
        self._event(start_ns, -length_ns, track, _BEGIN, body)
        self._event(end_ns, length_ns - (1 << 62), track, _END, b"")

    def instant(
        self, track: Track, name: str, at_ns: int, facts: Mapping[str, Value] | None = None
    ) -> None:
        self._event(at_ns, 1, track, _INSTANT, _text(23, name) + _facts(facts or {}))

    def value(self, counter: Track, at_ns: int, value: float) -> None:
        self._event(at_ns, 1, counter, _COUNTER, _double(44, value))

    def encoded(self) -> bytes:
        events = [body for _, _, body in sorted(self._events, key=lambda event: event[:2])]
        return b"".join(_message(1, packet) for packet in (*self._descriptors, *events))

    def _track(self, name: str, parent: Track | None, kind: bytes) -> Track:
        number = Track(len(self._descriptors) + 1)
        rank = self._ranks.get(parent or 0, 0)
        self._ranks[parent or 0] = rank + 1
        body = _number(1, number) + _text(2, name) + kind
        body += b"" if parent is None else _number(5, parent)
        body += _number(11, _EXPLICIT_ORDER) + _number(12, rank) + _number(15, _NEVER_MERGED)
        first = b"" if self._descriptors else _number(13, _INCREMENTAL_STATE_CLEARED)
        self._descriptors.append(_message(60, body) + _number(10, _SEQUENCE) + first)
        return number

    def _event(self, at_ns: int, order: int, track: Track, kind: int, body: bytes) -> None:
        event = _message(11, _number(9, kind) + _number(11, track) + body)
        packet = _number(8, at_ns) + event + _number(10, _SEQUENCE)
        self._events.append((at_ns, order, packet))


def _facts(facts: Mapping[str, Value]) -> bytes:
    return b"".join(_message(4, _text(10, k) + _fact(v)) for k, v in _told(facts))


def _told(facts: Mapping[str, Value]) -> Iterable[tuple[str, Value]]:
    return ((name, value) for name, value in facts.items() if value not in (None, ""))


def _fact(value: Value) -> bytes:
    match value:
        case bool():
            return _number(2, int(value))
        case int() if value >= 0:
            return _number(3, value)
        case int() | float():
            return _double(5, float(value))
        case _:
            return _text(6, str(value))


def _text(field: int, value: str) -> bytes:
    return _message(field, value.encode())


def _message(field: int, body: bytes) -> bytes:
    return _tag(field, 2) + _varint(len(body)) + body


def _double(field: int, value: float) -> bytes:
    return _tag(field, 1) + struct.pack("<d", value)


def _number(field: int, value: int) -> bytes:
    return _tag(field, 0) + _varint(value)


def _tag(field: int, kind: int) -> bytes:
    return _varint(field << 3 | kind)


def _varint(value: int) -> bytes:
    made = bytearray()
    while value > 0x7F:
        made.append(value & 0x7F | 0x80)
        value >>= 7
    made.append(value)
    return bytes(made)
