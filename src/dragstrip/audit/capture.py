"""Captures by any tool: HAR files read leniently and reduced to what can be judged.

A capture is one page of a HAR 1.2 file (http://www.softwareishard.com/blog/har-12-spec). Sizes are
what crossed the wire and never decoded sizes; where a tool wrote none, the size is None.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from dragstrip.model.errors import InputError
from dragstrip.pages.importers.packed import BAD_PACKING, read_packed

SUFFIXES = (".har", ".har.gz", ".har.zst")

Family = Literal["h1", "spdy", "h2", "quic", ""]
"""How an answer came: over TCP as HTTP/1.x, SPDY or HTTP/2, over QUIC (HTTP/3 or Google's), or ""
if the capture does not say."""


class CapturedRequest(Struct, frozen=True, kw_only=True):
    """One entry of a capture. Times are ms since the capture began."""

    url: str
    protocol: Family
    wire_bytes: int | None
    end_ms: float
    connect_ms: float | None
    """What the request waited for a new connection, TLS included; None if it needed none."""
    cached: bool
    failed: bool


class Capture(Struct, frozen=True, kw_only=True):
    name: str
    """File name without suffix; with the page's id behind ``#`` if the file holds several pages."""
    title: str
    tool: str
    load_ms: float | None
    """onLoad; None if the capture has none."""
    answers: tuple[CapturedRequest, ...]

    def loaded_bytes(self) -> int | None:
        """Wire bytes of what had ended before the load event; None if any size is unknown."""
        sizes = [a.wire_bytes for a in self.answers if a.end_ms <= (self.load_ms or 0)]
        known = [s for s in sizes if s is not None]
        return sum(known) if len(known) == len(sizes) else None


class _Timings(Struct, frozen=True):
    connect: float | None = None


class _Content(Struct, frozen=True):
    size: float = 0


class _Response(Struct, frozen=True, kw_only=True):
    status: int = 0
    http_version: str = field(default="", name="httpVersion")
    headers_size: float = field(default=-1, name="headersSize")
    body_size: float = field(default=-1, name="bodySize")
    content: _Content = _Content()
    transfer_size: float | None = field(default=None, name="_transferSize")
    error: str | None = field(default=None, name="_error")


class _Request(Struct, frozen=True):
    url: str


class _Entry(Struct, frozen=True, kw_only=True):
    pageref: str = ""
    started: datetime = field(name="startedDateTime")
    time: float
    request: _Request
    response: _Response
    timings: _Timings = _Timings()
    from_cache: Any = field(default=None, name="_fromCache")
    from_disk: bool | None = field(default=None, name="_fromDiskCache")
    bytes_in: float | None = field(default=None, name="_bytesIn")


class _PageTimings(Struct, frozen=True):
    onLoad: float | None = None


class _Page(Struct, frozen=True, kw_only=True):
    id: str
    title: str = ""
    started: datetime = field(name="startedDateTime")
    timings: _PageTimings = field(default=_PageTimings(), name="pageTimings")


class _Creator(Struct, frozen=True):
    name: str = ""
    version: str = ""


class _Log(Struct, frozen=True, kw_only=True):
    creator: _Creator = _Creator()
    pages: tuple[_Page, ...]
    entries: tuple[_Entry, ...]


class _Har(Struct, frozen=True):
    log: _Log


_DECODER = msgspec.json.Decoder(_Har, strict=False)


def find(paths: Iterable[Path]) -> list[Path]:
    """The captures among files and folders (searched to the bottom), each once, in order of name.

    Raises `InputError` for a path that is not there, or that holds no capture.
    """
    found: dict[Path, None] = {}
    for path in paths:
        inside = sorted(p for p in path.rglob("*") if p.name.endswith(SUFFIXES) and p.is_file())
        if not inside and not path.is_file():
            missing = "no such file or folder" if not path.exists() else "this folder holds no HAR"
            raise InputError(f"{path}: {missing}; give {', '.join(SUFFIXES)} files or their folder")
        found |= dict.fromkeys(inside or [path])
    return list(found)


def read(path: Path) -> Iterator[Capture]:
    """Every page of a HAR file as a capture. Raises `InputError` naming file and place."""
    try:
        log = _DECODER.decode(_text(path)).log
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: not a HAR 1.2 file ({error}); omit it") from None
    if not log.pages:
        raise InputError(f"{path}: the HAR names no page, so no load can be judged; omit it")
    name = _bare(path)
    first = log.pages[0].id
    for page in log.pages:
        yield Capture(
            name=name if len(log.pages) == 1 else f"{name}#{page.id}",
            title=page.title,
            tool=f"{log.creator.name} {log.creator.version}".strip(),
            load_ms=load if (load := page.timings.onLoad) and load > 0 else None,
            answers=tuple(
                _answer(e, page.started)
                for e in log.entries
                if (e.pageref or first) == page.id and e.request.url.startswith("http")
            ),
        )


def family(http_version: str) -> Family:
    """``http/2+quic/46``, ``h3-29`` -> quic; ``HTTP/1.1``, ``1.1`` -> h1; ``unknown`` -> ""."""
    text = http_version.lower()
    if "quic" in text or text.startswith(("h3", "http/3", "hq")):
        return "quic"
    if "spdy" in text:
        return "spdy"
    if text.startswith(("h2", "http/2")):
        return "h2"
    return "h1" if text.removeprefix("http/").startswith("1.") else ""


def _answer(entry: _Entry, begun: datetime) -> CapturedRequest:
    response, connect = entry.response, entry.timings.connect
    size = _wire_bytes(entry)
    served_by_cache = size == 0 and response.status == 200 and response.content.size > 0
    return CapturedRequest(
        url=entry.request.url,
        protocol=family(response.http_version),
        wire_bytes=size,
        end_ms=(entry.started - begun).total_seconds() * 1000 + entry.time,
        connect_ms=connect if connect is not None and connect > 0 else None,
        cached=bool(entry.from_cache or entry.from_disk or served_by_cache),
        failed=response.status <= 0 or bool(response.error),
    )


def _wire_bytes(entry: _Entry) -> int | None:
    """Chromium's tools write `_transferSize`, WebPagetest `_bytesIn`, others header and body."""
    for written in (entry.response.transfer_size, entry.bytes_in):
        if written is not None and written >= 0:
            return round(written)
    body, headers = entry.response.body_size, entry.response.headers_size
    return round(body + max(0, headers)) if body >= 0 else None


def _text(path: Path) -> bytes:
    try:
        return read_packed(path)
    except (*BAD_PACKING, ValueError) as error:
        raise InputError(f"{path}: cannot be read ({error}); fetch it again") from None


def _bare(path: Path) -> str:
    name = path.name.removesuffix(".gz").removesuffix(".zst")
    return name.removesuffix(".har")
