"""Reads a trace with the messages of Perfetto's own package, by the rules of its trace processor.

The trace processor corrects some of what is wrong in silence. So this reader refuses it: fields
that no message has, events on tracks without a description, spans that end without a beginning, or
do not nest. `perfetto_processor.py` asks the processor itself.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as perfetto

Message = Any


class Span(NamedTuple):
    track: str
    name: str
    start_ns: int
    end_ns: int
    depth: int
    facts: Mapping[str, object]
    flows: tuple[int, ...]


class Read(NamedTuple):
    tracks: Mapping[str, str]
    """Path of each track, as ``parent/child``, and its unit; empty for spans."""
    spans: list[Span]
    instants: list[tuple[str, str, int]]
    values: dict[str, list[tuple[int, float]]]


def read(content: bytes) -> Read:
    """The content of a trace. Raises `AssertionError` for anything that Perfetto would not show."""
    trace = perfetto.Trace.FromString(content)
    _known(trace)
    paths: dict[int, str] = {}
    units: dict[int, str] = {}
    open_: dict[int, list[tuple[Message, int]]] = defaultdict(list)
    found = Read({}, [], [], defaultdict(list))
    last_ns = 0
    for at, packet in enumerate(trace.packet):
        assert packet.trusted_packet_sequence_id, "a packet belongs to a sequence"
        if at == 0:
            assert packet.sequence_flags & perfetto.TracePacket.SEQ_INCREMENTAL_STATE_CLEARED
        if packet.HasField("track_descriptor"):
            described = packet.track_descriptor
            assert described.uuid
            assert described.uuid not in paths
            parent = described.parent_uuid
            assert not parent or parent in paths, "a parent is described before its child"
            paths[described.uuid] = (
                f"{paths[parent]}/{described.name}" if parent else described.name
            )
            units[described.uuid] = described.counter.unit_name
            assert paths[described.uuid] not in found.tracks, "each track has its own path"
            found.tracks[paths[described.uuid]] = units[described.uuid]
            continue
        event, now_ns = packet.track_event, packet.timestamp
        assert packet.HasField("track_event")
        assert now_ns >= last_ns, "events stand in order of time"
        last_ns = now_ns
        path = paths[event.track_uuid]
        match event.type:
            case perfetto.TrackEvent.TYPE_SLICE_BEGIN:
                assert event.name
                open_[event.track_uuid].append((event, now_ns))
            case perfetto.TrackEvent.TYPE_SLICE_END:
                begun, start_ns = open_[event.track_uuid].pop()
                found.spans.append(
                    Span(
                        path,
                        begun.name,
                        start_ns,
                        now_ns,
                        len(open_[event.track_uuid]),
                        _facts(begun),
                        tuple(begun.flow_ids),
                    )
                )
            case perfetto.TrackEvent.TYPE_INSTANT:
                found.instants.append((path, event.name, now_ns))
            case perfetto.TrackEvent.TYPE_COUNTER:
                assert units[event.track_uuid], "a value is on a counter"
                assert event.WhichOneof("counter_value_field") == "double_counter_value"
                found.values[path].append((now_ns, event.double_counter_value))
            case _:
                raise AssertionError(f"{event.type} is no type that is written")
    assert not any(open_.values()), "every span ends"
    return found


def _facts(event: Message) -> dict[str, object]:
    return {a.name: getattr(a, a.WhichOneof("value")) for a in event.debug_annotations}


def _known(message: Message) -> None:
    """No field is one that Perfetto's messages lack."""
    assert not len(unknown_fields.UnknownFieldSet(message)), message
    for field, value in message.ListFields():
        if field.message_type:
            for each in value if field.is_repeated else [value]:
                _known(each)
