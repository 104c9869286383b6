"""The files that a capsule keeps of a visit besides its tables, and their names."""

from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from dragstrip.model.visit import Visit


class ArtefactKind(Struct, frozen=True):
    folder: str
    suffix: str
    what: str


KINDS = (
    ArtefactKind(
        "har", ".har", "HAR 1.2: every request with its headers; opens in a browser's tools"
    ),
    ArtefactKind("frames", ".zip", "every frame the browser drew, with times.json"),
    ArtefactKind("main-thread", ".json", "what the page's main thread did"),
    ArtefactKind("qlog", ".qlog", "qlog of the origin's QUIC connections; opens in qvis"),
    ArtefactKind("pcap", ".pcapng", "packets with their keys; opens in Wireshark"),
    ArtefactKind("pcap", ".keys", "TLS keys in the format of SSLKEYLOGFILE"),
    ArtefactKind("wire", ".json", "the packets taken apart: connections, requests, handshakes"),
    ArtefactKind("wire", ".parquet", "one row per packet"),
)


class Artefact(Struct, frozen=True):
    path: Path
    what: str
    size: int


def frames_file(capsule: Path, visit: Visit) -> Path:
    """Return the path for the visit's frames, see `dragstrip.visit.frames.write_frames`. No file is
    there if no frames were recorded."""
    return capsule / "frames" / f"{visit.file_name}.zip"


def tasks_file(capsule: Path, visit: Visit) -> Path:
    """Return the path for what the page's main thread did: a list of
    `dragstrip.browsers.main_thread.Task`. No file is there if it was not recorded."""
    return capsule / "main-thread" / f"{visit.file_name}.json"


def artefacts(capsule: Path, visit: Visit) -> Iterator[Artefact]:
    """Yield the visit's artefacts that exist, in the order of `KINDS`."""
    for kind in KINDS:
        path = capsule / kind.folder / f"{visit.file_name}{kind.suffix}"
        if path.exists():
            yield Artefact(path, kind.what, path.stat().st_size)
