"""Writes the qlog of a capsule's visits, in the current draft or as it was kept."""

from pathlib import Path
from typing import Literal

from dragstrip.model.errors import InputError
from dragstrip.results.capsule import Capsule
from dragstrip.visit.qlog_draft import sequences

QlogVersion = Literal["draft", "0.3"]


def write_qlogs(capsule: Capsule, folder: Path, version: QlogVersion) -> list[Path]:
    """Write qlog files into `folder`, which must exist; return them in the order of the visits. The
    files are ``VISIT-CONNECTION.sqlog`` for each connection, or ``VISIT.qlog`` of version 0.3 for
    each visit.

    Raises `InputError` if the capsule has no qlog.
    """
    written = []
    for visit in capsule.visits():
        kept = capsule.path / "qlog" / f"{visit.file_name}.qlog"
        if not kept.is_file():
            continue
        whole = kept.read_bytes()
        if version == "0.3":
            written.append(_put(folder / kept.name, whole))
            continue
        for connection, text in sequences(whole):
            name = f"{visit.file_name}-{connection}.sqlog"
            written.append(_put(folder / name, text))
    if not written:
        raise InputError(f"{capsule.path} has no qlog: race with --qlog, on our own server")
    return written


def _put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path
