"""Import a WARC or WARC.gz (ISO 28500) that holds the recording of one page."""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from contextlib import redirect_stderr
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

from msgspec import Struct, structs
from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import (
    StatusAndHeadersParser,
    StatusAndHeadersParserException,
)

from dragstrip.pages.format.recording import Headers, PageError, Recorded, Recording
from dragstrip.pages.importers.http1 import dechunked
from dragstrip.pages.importers.prepare import prepare

# What warcio raises of damage, and `_Damaged`.
_BAD_WARC = (ArchiveLoadFailed, StatusAndHeadersParserException, EOFError, ValueError)
_REQUEST = StatusAndHeadersParser([], verify=False)
_ANSWER = StatusAndHeadersParser(["HTTP/1.0", "HTTP/1.1", "HTTP/2"], verify=False)
_KINDS = ("request", "response", "revisit")


class _Damaged(ValueError):
    """The file is cut off or inconsistent; the text says where."""


class _Record(Struct, frozen=True, kw_only=True):
    """A record that says something of one exchange."""

    kind: str
    """One of `_KINDS`."""
    id: str
    concurrent_to: str
    digest: str
    """Of the payload; a revisit has the body of the earlier record with the same one."""
    http: Recorded


def read_warc(path: Path, name: str, *, keep_http: bool = False) -> Recording:
    """The page in a WARC file, ready for `dragstrip.pages.format.archive.write_page`.

    Each `response` becomes an answer, in the order of the file, and so does each `revisit` whose
    body the file holds. Raises `PageError`.
    """
    try:
        with path.open("rb") as file:
            records = list(_records(file))
    except OSError as error:
        raise PageError(f"{path} cannot be read: {error.strerror or error}") from None
    except _BAD_WARC as error:
        reason = re.sub(r"[^ -~]+", " ", str(error))[:200]
        raise PageError(f"{path} is not a complete WARC file: {reason}; record it again") from None
    try:
        exchanges = _exchanges(records)
        return prepare(name, f"{path.name}, a WARC recording", exchanges, keep_http=keep_http)
    except PageError as error:
        raise PageError(f"{path}: {error}") from None


def _exchanges(records: list[_Record]) -> list[Recorded]:
    """Answers with the method and headers of their requests and the bodies of revisits."""
    requests = {r.concurrent_to or r.id: r.http for r in records if r.kind == "request"}
    bodies = {r.digest: r.http.wire for r in records if r.kind == "response" and r.digest}
    exchanges = []
    for record in records:
        if record.kind == "request":
            continue
        answer = record.http
        if request := requests.get(record.id) or requests.get(record.concurrent_to):
            answer = structs.replace(
                answer, method=request.method, request_headers=_without_cookie(request.headers)
            )
        if record.kind == "revisit":
            if record.digest not in bodies:
                raise PageError(f"record {record.id} refers to a body in another file")
            answer = structs.replace(answer, wire=bodies[record.digest])
        exchanges.append(answer)
    return exchanges


def _without_cookie(headers: Headers) -> Headers:
    return tuple(h for h in headers if h[0].lower() != "cookie")


def _records(file: IO[bytes]) -> Iterator[_Record]:
    # warcio is given the whole text and left no HTTP to parse, because it takes a file or a
    # message that breaks off for its end. What it prints of damage, the exceptions say better.
    archive = ArchiveIterator(_inflated(file), no_record_parse=True)
    with redirect_stderr(io.StringIO()):
        for number, record in enumerate(archive, start=1):
            uri = record.rec_headers.get_header("WARC-Target-URI") or ""
            where = f"record {number} ({uri})"
            if record.length is None:
                raise _Damaged(f"{where} has no Content-Length")
            block = io.BytesIO(record.raw_stream.read())
            if missing := record.raw_stream.limit:
                raise _Damaged(f"{where} is truncated, {missing} bytes are missing")
            if record.rec_type in _KINDS and uri.lower().startswith(("http:", "https:")):
                yield _record(record, block, uri, where)
        if archive.err_count:
            raise _Damaged("the length of a record is wrong")


def _inflated(file: IO[bytes]) -> IO[bytes]:
    data = file.read()
    try:
        return io.BytesIO(gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise _Damaged(str(error)) from None


def _record(record: ArcWarcRecord, block: IO[bytes], uri: str, where: str) -> _Record:
    meta = record.rec_headers
    is_request = record.rec_type == "request"
    http = (_REQUEST if is_request else _ANSWER).parse(block)
    headers = tuple((str(n), str(v)) for n, v in http.headers)
    status = "0" if is_request else http.get_statuscode()
    if not (status.isascii() and status.isdecimal()):
        raise _Damaged(f"{where} has no status code")
    return _Record(
        kind=record.rec_type,
        id=meta.get_header("WARC-Record-ID") or "",
        concurrent_to=meta.get_header("WARC-Concurrent-To") or "",
        digest=meta.get_header("WARC-Payload-Digest") or "",
        http=Recorded(
            url=uri,
            method=http.protocol if is_request else "GET",
            status=int(status),
            status_text="" if is_request else http.statusline.partition(" ")[2],
            http_version="HTTP/1.1" if is_request else http.protocol,
            headers=headers,
            wire=dechunked(block.read(), headers),
            started=_date(meta.get_header("WARC-Date") or "", where),
        ),
    )


def _date(text: str, where: str) -> datetime:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise _Damaged(f"{where} has WARC-Date {text!r}, which is not a time") from None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
