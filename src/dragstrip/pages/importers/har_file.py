"""HARs as other programs write them: every container, many dialects, one list of exchanges.

Read are plain JSON, .zst, .gz, and the .har.zip of Playwright with its bodies beside the JSON.
"""

import base64
import binascii
import io
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from dragstrip.pages.format.recording import Headers, PageError, header
from dragstrip.pages.importers.packed import BAD_PACKING, MAX_BYTES, check_size, read_packed

_BAD_MEMBER = (
    *BAD_PACKING,
    zipfile.BadZipFile,
    KeyError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)


class HarExchange(Struct, frozen=True, kw_only=True):
    """One entry of a HAR. Sizes are None where the recorder did not know them (HAR's -1)."""

    place: str
    """Where it stands in the file, such as ``log.entries[3]``."""
    url: str
    method: str
    status: int
    status_text: str
    http_version: str
    headers: Headers
    request_headers: Headers
    mime: str
    """Media type without parameters, from the header, else from ``content.mimeType``."""
    location: str
    """Target of a redirect, as it was recorded; empty if it is none."""
    started: datetime
    start_ms: float
    """From the start of the HAR's page."""
    end_ms: float
    headers_bytes: int | None
    body_bytes: int | None
    transfer_bytes: int | None
    content_bytes: int | None
    content: bytes | None
    """The body without content encoding; None if the HAR does not hold it."""
    upload_bytes: int
    cached: bool
    initiator: str
    """URL of what caused the request; empty if the HAR does not say."""
    resource_type: str
    """As Chromium names it, lower case; empty if the HAR does not say."""
    priority: str


class Visited(Struct, frozen=True, kw_only=True):
    """One page of a HAR."""

    title: str
    number: int
    of: int
    """How many pages the HAR holds."""
    load_ms: float | None
    """Load event, from the page's start; None if it was not recorded."""
    exchanges: tuple[HarExchange, ...]
    """By start."""
    creator: str


class _Pair(Struct):
    name: str = ""
    value: str | None = ""


class _Content(Struct, rename="camel"):
    size: float | None = None
    mime_type: str | None = None
    text: str | None = None
    encoding: str | None = None
    file: str | None = field(default=None, name="_file")


class _Request(Struct, rename="camel"):
    method: str
    url: str
    headers: list[_Pair] = []
    body_size: float | None = None
    post_data: Any = None


class _Response(Struct, rename="camel"):
    status: float | None = None
    status_text: str | None = None
    http_version: str | None = None
    headers: list[_Pair] = []
    content: _Content = field(default_factory=_Content)
    redirect_url: str | None = field(default=None, name="redirectURL")
    headers_size: float | None = None
    body_size: float | None = None
    transfer_size: Any = field(default=None, name="_transferSize")


class _Entry(Struct, rename="camel"):
    request: _Request
    response: _Response
    started: str = field(name="startedDateTime")
    pageref: str | None = None
    time: float | None = None
    initiator: Any = field(default=None, name="_initiator")
    resource_type: Any = field(default=None, name="_resourceType")
    priority: Any = field(default=None, name="_priority")


class _PageTimings(Struct, rename="camel"):
    on_load: float | None = None


class _Page(Struct, rename="camel"):
    id: str = ""
    title: str | None = None
    started: str | None = field(default=None, name="startedDateTime")
    page_timings: _PageTimings = field(default_factory=_PageTimings)


class _Creator(Struct):
    name: str | None = None
    version: str | None = None


class _Log(Struct):
    entries: list[msgspec.Raw]
    pages: list[_Page] | None = None
    creator: _Creator = field(default_factory=_Creator)
    dragstrip: msgspec.Raw | None = field(default=None, name="_dragstrip")


class _Har(Struct):
    log: _Log


class _Bodies:
    """Members of a Playwright archive; empty for a plain HAR."""

    def __init__(self, archive: zipfile.ZipFile | None = None) -> None:
        self._archive = archive

    def read(self, member: str, place: str) -> bytes:
        if self._archive is None:
            raise PageError(f"{place}: the body {member!r} lies in no archive; give the .har.zip")
        try:
            check_size(self._archive.getinfo(member).file_size)
            return self._archive.read(member)
        except _BAD_MEMBER as error:
            raise PageError(f"{place}: the body {member!r} cannot be read: {error}") from None


def is_page_file(path: Path) -> bool:
    """Whether a ``.har.zip`` is a page file of ours and not another program's HAR.

    An unreadable file counts as ours, because our loader reports best what is wrong with it.
    """
    try:
        text, _ = _open(path)
        return msgspec.json.decode(text, type=_Har).log.dragstrip is not None
    except (*_BAD_MEMBER, RecursionError):
        return True


def read_visit(path: Path, wanted: str = "") -> Visited:
    """The page `wanted` of a HAR: its number from 1, its id or its title; the first by default.

    Raises `PageError`, which names the file and the place in it.
    """
    try:
        text, bodies = _open(path)
        log = msgspec.json.decode(text, type=_Har).log
        return _visited(log, wanted, bodies)
    except PageError as error:
        raise PageError(f"{path}, {error}") from None
    except msgspec.DecodeError as error:
        raise PageError(f"{path} is not a HAR: {error}; export it again") from None
    except RecursionError:
        raise PageError(f"{path} is not a HAR: it is nested too deep; export it again") from None
    except _BAD_MEMBER as error:
        raise PageError(f"{path} cannot be read: {error}; export it again") from None


def _open(path: Path) -> tuple[bytes, _Bodies]:
    if path.name.lower().endswith(".zip"):
        archive = zipfile.ZipFile(io.BytesIO(path.read_bytes()))
        member = next((n for n in archive.namelist() if n.lower().endswith(".har")), None)
        if member is None:
            raise ValueError("the archive holds no .har")
        check_size(archive.getinfo(member).file_size)
        return archive.read(member), _Bodies(archive)
    return read_packed(path).removeprefix(b"\xef\xbb\xbf"), _Bodies()


def _visited(log: _Log, wanted: str, bodies: _Bodies) -> Visited:
    entries = [(_decoded(raw, place), place) for place, raw in _placed(log.entries)]
    pages = log.pages or [_Page()]
    number = _choose(pages, wanted)
    page = pages[number]
    mine = [(e, p) for e, p in entries if len(pages) == 1 or e.pageref == page.id]
    if not mine:
        raise PageError(f"log.pages[{number}]: it has no entries; choose another page")
    begun = _date(page.started, "log.pages") if page.started else None
    first = begun or min(_date(e.started, place) for e, place in mine)
    exchanges = sorted(
        (_exchange(e, place, first, bodies) for e, place in mine), key=lambda x: x.start_ms
    )
    load_ms = page.page_timings.on_load
    return Visited(
        title=page.title or page.id,
        number=number + 1,
        of=len(pages),
        load_ms=load_ms if load_ms is not None and load_ms > 0 else None,
        exchanges=tuple(exchanges),
        creator=f"{log.creator.name or 'an unnamed program'} {log.creator.version or ''}".strip(),
    )


def _placed(raws: list[msgspec.Raw]) -> list[tuple[str, msgspec.Raw]]:
    return [(f"log.entries[{number}]", raw) for number, raw in enumerate(raws)]


def _decoded(raw: msgspec.Raw, place: str) -> "_Entry":
    try:
        return msgspec.json.decode(raw, type=_Entry)
    except msgspec.DecodeError as error:
        raise PageError(f"{place}: {error}; export the HAR again") from None


def _choose(pages: list[_Page], wanted: str) -> int:
    if not wanted:
        return 0
    for number, page in enumerate(pages):
        if wanted in (str(number + 1), page.id, page.title):
            return number
    known = ", ".join(f"#{n} {p.title or p.id}" for n, p in enumerate(pages, start=1))
    raise PageError(f"log.pages: there is no page {wanted!r}; it holds {known}")


def _exchange(entry: _Entry, place: str, begun: datetime, bodies: _Bodies) -> HarExchange:
    request, response = entry.request, entry.response
    content = response.content
    headers = _pairs(response.headers)
    started = _date(entry.started, place)
    start_ms = (started - begun).total_seconds() * 1000
    status = int(response.status or 0)
    sent = request.post_data if isinstance(request.post_data, dict) else {}
    mime = header(headers, "content-type") or content.mime_type or ""
    return HarExchange(
        place=place,
        url=request.url,
        method=request.method.upper(),
        status=status,
        status_text=response.status_text or "",
        http_version=response.http_version or "",
        headers=headers,
        request_headers=_pairs(request.headers),
        mime=mime.partition(";")[0].strip().lower(),
        location=_location(response, headers) if 300 <= status < 400 else "",
        started=started,
        start_ms=start_ms,
        end_ms=start_ms + max(0.0, entry.time or 0.0),
        headers_bytes=_size(response.headers_size),
        body_bytes=_size(response.body_size),
        transfer_bytes=_size(response.transfer_size),
        content_bytes=_size(content.size),
        content=_content(content, bodies, place),
        upload_bytes=_size(request.body_size) or len(str(sent.get("text") or "")),
        cached=_cached(entry),
        initiator=_initiator(entry.initiator),
        resource_type=str(entry.resource_type or "").lower(),
        priority=str(entry.priority or ""),
    )


def _pairs(pairs: list[_Pair]) -> Headers:
    return tuple((p.name, p.value or "") for p in pairs)


def _location(response: _Response, headers: Headers) -> str:
    return response.redirect_url or header(headers, "location")


def _size(value: Any) -> int | None:
    is_size = isinstance(value, int | float) and 0 <= value <= MAX_BYTES
    return int(value) if is_size else None


def _content(content: _Content, bodies: _Bodies, place: str) -> bytes | None:
    if content.file:
        return bodies.read(content.file, place)
    if content.text is None:
        return None
    if (content.encoding or "").lower() != "base64":
        return content.text.encode()
    try:
        return base64.b64decode(content.text)
    except (binascii.Error, ValueError) as error:
        raise PageError(f"{place}.response.content.text is not base64: {error}") from None


def _cached(entry: _Entry) -> bool:
    """Whether the recorder's browser had the body in a cache and fetched almost nothing."""
    response = entry.response
    if response.status == 304:
        return True
    unsent = not _size(response.transfer_size) and not _size(response.body_size)
    was_sized = isinstance(response.transfer_size, int | float) and response.transfer_size == 0
    return was_sized and unsent and bool(_size(response.content.size))


def _initiator(value: Any) -> str:
    """A URL from what Chromium, chrome-har and WebPageTest each write."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    if isinstance(url := value.get("url"), str) and url:
        return url
    stack = value.get("stack")
    while isinstance(stack, dict):
        frames = stack.get("callFrames")
        for frame in frames if isinstance(frames, list) else ():
            if isinstance(frame, dict) and isinstance(url := frame.get("url"), str) and url:
                return url
        stack = stack.get("parent")
    return ""


def _date(text: str, place: str) -> datetime:
    try:
        date = datetime.fromisoformat(text)
        return date if date.tzinfo else date.replace(tzinfo=UTC)
    except ValueError:
        raise PageError(f"{place}.startedDateTime: {text!r} is not a time; export again") from None
