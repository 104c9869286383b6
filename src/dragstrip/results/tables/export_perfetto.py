"""Writes a capsule's visits as traces for Perfetto, one per visit, from whatever the capsule
kept."""

from pathlib import Path

import msgspec

from dragstrip.browsers.main_thread import Task
from dragstrip.model.visit import Visit
from dragstrip.results.artefacts import frames_file, tasks_file
from dragstrip.results.capsule import Capsule
from dragstrip.results.packets import Packet, read_packets
from dragstrip.results.perfetto.visit import visit_trace
from dragstrip.visit.frames import read_frames
from dragstrip.visit.qlog import QlogTrace


def write_traces(capsule: Capsule, folder: Path) -> list[Path]:
    """Write ``VISIT.perfetto-trace`` for each visit into `folder`, which must exist; return the
    files in the order of the visits."""
    written = []
    for visit in capsule.visits():
        trace = visit_trace(
            visit,
            qlog=_qlog(capsule.path, visit),
            packets=_packets(capsule.path, visit),
            frames_ms=_frames_ms(capsule.path, visit),
            tasks=_tasks(capsule.path, visit),
        )
        path = folder / f"{visit.file_name}.perfetto-trace"
        path.write_bytes(trace)
        written.append(path)
    return written


def _qlog(capsule: Path, visit: Visit) -> list[QlogTrace]:
    path = capsule / "qlog" / f"{visit.file_name}.qlog"
    if not path.is_file():
        return []
    traces: list[QlogTrace] = msgspec.json.decode(path.read_bytes())["traces"]
    return traces


def _packets(capsule: Path, visit: Visit) -> list[Packet]:
    path = capsule / "wire" / f"{visit.file_name}.parquet"
    return read_packets(path) if path.is_file() else []


def _frames_ms(capsule: Path, visit: Visit) -> list[float]:
    path = frames_file(capsule, visit)
    return [frame.time_ms for frame in read_frames(path)] if path.is_file() else []


def _tasks(capsule: Path, visit: Visit) -> tuple[Task, ...]:
    path = tasks_file(capsule, visit)
    return msgspec.json.decode(path.read_bytes(), type=tuple[Task, ...]) if path.is_file() else ()
