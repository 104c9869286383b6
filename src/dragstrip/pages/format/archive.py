"""Writes a recording to a page file, and loads a page from it (docs/reference/page-format.md)."""

import hashlib
import os
import re
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import IO, Literal
from urllib.parse import parse_qsl, urlsplit

import msgspec

from dragstrip.model.done import parse_done
from dragstrip.model.errors import InputError
from dragstrip.model.page import DIGEST_DIGITS, Failure, Page, Resource, digest_of
from dragstrip.model.sockets import PageSocket
from dragstrip.pages.format import har
from dragstrip.pages.format import sockets as socket_entries
from dragstrip.pages.format.coding import CodingError
from dragstrip.pages.format.recorded_servers import addresses, covered, normal
from dragstrip.pages.format.recording import (
    PageError,
    Recorded,
    Recording,
    header,
    is_connection_header,
)
from dragstrip.pages.format.urls import Unservable, servable
from dragstrip.pages.format.zips import BAD_ZIP

FORMAT = 1
SUFFIX = ".har.zip"
HAR_MEMBER = "har.har"
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
_MOST_BYTES = 8_000_000_000
"""Most bytes that all members together may unpack to. dragstrip does not compress members, so its
own files unpack to about their size."""
_MEMBER = re.compile(r"([0-9a-f]{64})\.[a-z0-9]{1,8}")
_FAMILIES: Mapping[str, Literal["h1", "h2", "h3"]] = {
    "http/1": "h1",
    "http/2+quic": "h3",
    "http/2": "h2",
    "h2": "h2",
    "http/3": "h3",
    "h3": "h3",
    "quic": "h3",
}
"""Protocol of an answer, by the beginning of its httpVersion in a HAR. Google QUIC counts as
HTTP/3."""
_EXTENSIONS = {
    "text/html": ".html",
    "text/css": ".css",
    "text/javascript": ".js",
    "application/javascript": ".js",
    "application/x-javascript": ".js",
    "application/json": ".json",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
    "image/svg+xml": ".svg",
    "font/woff2": ".woff2",
}


def write_page(path: Path, recording: Recording) -> Page:
    """Write the page file and load it. The file appears complete or not at all.

    The bytes depend on the recording alone. Raises `PageError`.
    """
    unfinished = None
    try:
        text = har.encode(_har(recording))
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, unfinished = tempfile.mkstemp(dir=path.parent, prefix=".page-")
        with os.fdopen(handle, "wb") as file:
            _write_zip(file, text, recording)
        page = _load(Path(unfinished), path)
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, path)
        return page
    except (CodingError, UnicodeEncodeError, OSError) as error:
        raise PageError(f"{path} cannot be written: {error}") from None
    finally:
        if unfinished:
            Path(unfinished).unlink(missing_ok=True)


def load_page(path: Path) -> Page:
    """Load a page file after checking its format, including the bodies. Raises `PageError`, which
    names the file and the place in it."""
    return _load(path, path)


def read_screenshot(page: Page) -> bytes | None:
    """Return the page's recorded screenshot (PNG); None if it has none."""
    if not page.screenshot:
        return None
    with zipfile.ZipFile(page.path) as archive:
        return archive.read(page.screenshot)


def _write_zip(file: IO[bytes], text: bytes, recording: Recording) -> None:
    # Members are stored and not deflated: bodies are mostly compressed, and equal input gives equal
    # bytes.
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(HAR_MEMBER, _ZIP_TIME), text)
        written = set()
        for member, body in _members(recording):
            if member not in written:
                archive.writestr(zipfile.ZipInfo(member, _ZIP_TIME), body)
                written.add(member)


def _load(file: Path, path: Path) -> Page:
    """Load the page in `file`. The page's path will be `path`."""
    try:
        with file.open("rb") as whole:
            digest = hashlib.file_digest(whole, "sha256").hexdigest()[:12]
        with zipfile.ZipFile(file) as archive:
            sizes = _body_sizes(archive)
            log = har.decode(archive.read(HAR_MEMBER)).log
        return _page(path, log, sizes, digest)
    except OSError as error:
        raise PageError(f"{path} cannot be read: {error.strerror or error}") from None
    except (_Flaw, msgspec.DecodeError) as error:
        raise PageError(f"{path}, {HAR_MEMBER}: {error}; import or record it again") from None
    except BAD_ZIP as error:
        raise PageError(
            f"{path} is not a complete page file ({error}); import or record it again"
        ) from None


class _Flaw(ValueError):
    """Raised if the HAR breaks the format; the text says how and where."""


def _body_sizes(archive: zipfile.ZipFile) -> dict[str, int]:
    """Return the length of each body member. Raises `_Flaw` unless a member's name is the SHA-256
    of its bytes."""
    names = archive.namelist()
    if not names or names[0] != HAR_MEMBER:
        raise _Flaw("it must be the first member of the archive")
    if sum(member.file_size for member in archive.infolist()) > _MOST_BYTES:
        raise _Flaw(f"its members unpack to more than {_MOST_BYTES // 10**9} GB")
    sizes = {}
    for name in names[1:]:
        body = archive.read(name)
        named = _MEMBER.fullmatch(name)
        if not named or named[1] != hashlib.sha256(body).hexdigest():
            raise _Flaw(f"member {name!r} is not named by the SHA-256 of its bytes")
        sizes[name] = len(body)
    return sizes


def _page(path: Path, log: har.Log, sizes: dict[str, int], digest: str) -> Page:
    extra = log.dragstrip
    if extra.format != FORMAT:
        raise _Flaw(f"format {extra.format} at log._dragstrip is unknown, this program reads 1")
    numbered = list(enumerate(log.entries))
    opened = [(i, e) for i, e in numbered if socket_entries.is_socket(e)]
    others = [(i, e) for i, e in numbered if not socket_entries.is_socket(e)]
    begun = min((e.started_date_time for _, e in others), default=None)
    resources = tuple(_resource(i, entry, sizes, begun) for i, entry in others)
    answered = [(r, e) for r, (_, e) in zip(resources, others, strict=True)]
    if extra.screenshot and extra.screenshot not in sizes:
        raise _Flaw(f"log._dragstrip.screenshot: the archive has no member {extra.screenshot!r}")
    try:
        parse_done(extra.done)
    except InputError as error:
        raise _Flaw(f"log._dragstrip.done: {error}") from None
    if not any(r.method == "GET" and r.url == extra.url for r in resources):
        raise _Flaw(f"no GET entry answers the start {extra.url!r} of log._dragstrip.url")
    return Page(
        name=extra.name,
        path=path,
        url=extra.url,
        resources=resources,
        source=extra.source,
        changes=extra.changes,
        digest=digest,
        failures=tuple(Failure(url=f.url, method=f.method, error=f.error) for f in extra.failed),
        recorded_ms=_ms(log.pages[0].started_date_time) if log.pages else None,
        load_ms=log.pages[0].page_timings.on_load if log.pages else None,
        screenshot=extra.screenshot,
        done=extra.done,
        sockets=tuple(_socket(i, entry) for i, entry in opened),
        spoken=_spoken([e for _, e in others]),
        addresses=addresses([(r.host, e.server_ip) for r, e in answered]),
        certificates=extra.certificates,
    )


def _socket(index: int, entry: har.Entry) -> PageSocket:
    try:
        return socket_entries.page_socket(entry)
    except ValueError as error:
        raise _Flaw(f"log.entries[{index}].{error}") from None


def _spoken(entries: Sequence[har.Entry]) -> dict[str, Literal["h1", "h2", "h3"]]:
    """Return the protocol of most of a host's https answers, by host; in a tie, the older
    protocol."""
    seen: dict[str, Counter[Literal["h1", "h2", "h3"]]] = {}
    for entry in entries:
        place = urlsplit(entry.request.url)
        named = entry.response.http_version.lower()
        family = next((f for start, f in _FAMILIES.items() if named.startswith(start)), None)
        if family and place.scheme == "https":
            seen.setdefault(place.hostname or "", Counter())[family] += 1
    return {h: max(sorted(counts), key=counts.__getitem__) for h, counts in seen.items()}


def _ms(moment: datetime) -> float:
    return moment.timestamp() * 1000


def _resource(
    index: int, entry: har.Entry, sizes: dict[str, int], begun: datetime | None
) -> Resource:
    request, response = entry.request, entry.response
    where = f"log.entries[{index}]"
    try:
        if (url := servable(request.url, keep_http=True)) != request.url:
            raise Unservable(f"it should be {url}")
    except Unservable as error:
        raise _Flaw(f"{where}.request.url {request.url!r} cannot be served: {error}") from None
    if entry.server_ip != normal(entry.server_ip):
        raise _Flaw(f"{where}.serverIPAddress {entry.server_ip!r} is not an IP address")
    if stray := [h.name for h in response.headers if is_connection_header(h.name)]:
        raise _Flaw(f"{where}.response.headers describe a connection: {', '.join(stray)}")
    if not 200 <= response.status <= 599:
        raise _Flaw(f"{where}.response.status {response.status} is not a final answer")
    decoded, wire = response.content.file, response.dragstrip.wire_file
    coding = header(((h.name, h.value) for h in response.headers), "content-encoding")
    if bool(wire) != (response.body_size > 0 and coding.strip().lower() not in ("", "identity")):
        raise _Flaw(f"{where}.response: wire_file and content-encoding {coding!r} do not agree")
    for member, size, field in (
        (decoded, response.content.size, "content._file"),
        (wire or decoded, response.body_size, "_dragstrip.wire_file"),
    ):
        if member is not None and member not in sizes:
            raise _Flaw(f"{where}.response.{field}: the archive has no member {member!r}")
        if (sizes[member] if member else 0) != size:
            raise _Flaw(f"{where}.response.{field}: the size is not {size} as recorded")
    return Resource(
        url=request.url,
        method=request.method,
        status=response.status,
        mime=response.content.mime_type.partition(";")[0].strip().lower(),
        body_bytes=response.body_size,
        decoded_bytes=response.content.size,
        digest=decoded[:DIGEST_DIGITS] if decoded else digest_of(b""),
        initiator=entry.initiator.url,
        inferred=entry.initiator.inferred,
        upload_bytes=max(request.body_size, 0) if entry.dragstrip.held else 0,
        start_ms=_ms(entry.started_date_time) - _ms(begun) if begun else 0.0,
        time_ms=entry.time,
    )


def _har(recording: Recording) -> har.Har:
    entries = tuple(_entry(answer) for answer in recording.answers)
    started = min((e.started_date_time for e in entries), default=None)
    if started is None:
        raise PageError(f"page {recording.name!r} has no answers")
    page = har.HarPage(
        started_date_time=started,
        id="page_1",
        title=recording.url,
        page_timings=har.PageTimings(on_load=recording.load_ms),
    )
    return har.Har(
        log=har.Log(
            version="1.2",
            creator=har.Creator(name="dragstrip", version=str(FORMAT)),
            pages=(page,),
            entries=(*entries, *map(socket_entries.entry_of, recording.sockets)),
            dragstrip=har.LogExtra(
                format=FORMAT,
                name=recording.name,
                url=recording.url,
                source=recording.source,
                changes=recording.changes,
                screenshot=_member(recording.screenshot, "image/png"),
                done=recording.done,
                failed=tuple(
                    har.Failed(method=f.method, url=f.url, error=f.error)
                    for f in recording.failures
                ),
                certificates=_certificates(recording),
            ),
        )
    )


def _certificates(recording: Recording) -> dict[str, tuple[str, ...]]:
    hosts = dict.fromkeys(urlsplit(a.url).hostname or "" for a in recording.answers)
    shown = ((urlsplit(a.url).hostname or "", a.certificate) for a in recording.answers)
    return covered(shown, hosts)


def _entry(answer: Recorded) -> har.Entry:
    mime = header(answer.headers, "content-type")
    query = parse_qsl(urlsplit(answer.url).query, keep_blank_values=True)
    encoded = answer.coding not in ("", "identity")
    return har.Entry(
        pageref="page_1",
        started_date_time=answer.started,
        time=answer.time_ms,
        cache={},
        initiator=har.Initiator(url=answer.initiator, inferred=answer.inferred),
        timings=har.Timings(wait=answer.time_ms),
        server_ip=answer.server_ip,
        early_hints=answer.early_hints,
        dragstrip=har.EntryExtra(think_ms=answer.think_ms, held=answer.held),
        request=har.Request(
            method=answer.method,
            url=answer.url,
            http_version=answer.http_version,
            headers=_pairs(answer.request_headers),
            query_string=_pairs(query),
            body_size=answer.upload_bytes or -1,
        ),
        response=har.Response(
            status=answer.status,
            status_text=answer.status_text,
            http_version=answer.http_version,
            headers=_pairs(answer.headers),
            redirect_url=header(answer.headers, "location"),
            body_size=len(answer.wire),
            content=har.Content(
                size=len(answer.body),
                mime_type=mime,
                file=_member(answer.body, answer.mime),
            ),
            dragstrip=har.ResponseExtra(
                wire_file=_member(answer.wire, answer.mime) if encoded else None
            ),
        ),
    )


def _pairs(pairs: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> tuple[har.Pair, ...]:
    return tuple(har.Pair(name=n, value=v) for n, v in pairs)


def member_name(body: bytes, mime: str) -> str:
    """Return the name of the zip member that holds `body`. Its extension is only for people."""
    return hashlib.sha256(body).hexdigest() + _EXTENSIONS.get(mime, ".bin")


def _member(body: bytes, mime: str) -> str | None:
    return member_name(body, mime) if body else None


def _members(recording: Recording) -> Iterator[tuple[str, bytes]]:
    if picture := _member(recording.screenshot, "image/png"):
        yield picture, recording.screenshot
    for answer in recording.answers:
        for body in (answer.body, answer.wire):
            if member := _member(body, answer.mime):
                yield member, body
