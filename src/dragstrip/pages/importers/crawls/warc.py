"""Reads WARC and ARC files (ISO 28500), one file or several of one crawl."""

import io
import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from msgspec import Struct, structs
from warcio.statusandheaders import StatusAndHeadersParser

from dragstrip.pages.format.recording import EPOCH, Headers, Recorded
from dragstrip.pages.format.spool import Spool, SpooledExchange
from dragstrip.pages.importers.contents import Contents, RecordedNavigation
from dragstrip.pages.importers.crawls.navigations import navigations
from dragstrip.pages.importers.crawls.records import RawRecord, records
from dragstrip.pages.importers.crawls.revisits import Bodies, Refers
from dragstrip.pages.importers.http1 import dechunked
from dragstrip.pages.importers.limits import DEFAULT, Limits, Meter
from dragstrip.pages.importers.plain import plain_file
from dragstrip.pages.importers.sentences import Notes

_REQUEST = StatusAndHeadersParser([], verify=False)
_ANSWER = StatusAndHeadersParser(["HTTP/1.0", "HTTP/1.1", "HTTP/2"], verify=False)
ENDINGS = (".warc", ".warc.gz", ".warc.zst", ".arc", ".arc.gz")
_KINDS = ("request", "response", "revisit")
_MOST_HEAD = 1_000_000
_HEAD_END = re.compile(rb"\r?\n\r?\n")


class _Record(Struct, frozen=True, kw_only=True):
    """A record that describes part of an exchange."""

    kind: str
    """Kind of the record: one of `_KINDS`."""
    where: str
    refers: Refers
    concurrent_to: str
    page_id: str
    http: Recorded | None
    """The HTTP message in the record; None for an empty block."""


def read_warc(path: Path, limits: Limits = DEFAULT) -> Contents:
    """Return the content of a WARC or ARC file. Raises `PageError`."""
    return read_warcs([path], limits)


def read_warcs(
    paths: Sequence[Path], limits: Limits = DEFAULT, told: Sequence[RecordedNavigation] = ()
) -> Contents:
    """Return the content of several WARC files of one crawl, in order of time; `told` are the pages
    that the crawl lists. Raises `PageError`."""
    crawl = Crawl(limits)
    for path in paths:
        with plain_file(path) as file:
            arc = path.name.lower().endswith((".arc", ".arc.gz"))
            crawl.add(records(file, path, crawl.meter, crawl.changes, arc=arc))
    said = f"a crawl of {len(paths)} WARC files" if len(paths) > 1 else "a WARC recording"
    return crawl.contents(said, told, several=len(paths) > 1)


class Crawl:
    """Collects the records of one crawl. Bodies are kept on disk."""

    def __init__(self, limits: Limits) -> None:
        self.meter = Meter(limits)
        self.changes: list[str] = []
        self._notes = Notes()
        self._spool = Spool()
        self._records: list[_Record] = []
        self._latest = EPOCH

    def add(self, raw: Iterable[RawRecord]) -> None:
        """Add records, in the order of their file."""
        for one in raw:
            if one.type in _KINDS and one.uri.lower().startswith(("http:", "https:")):
                self._add(one)

    def contents(
        self, source: str, told: Sequence[RecordedNavigation] = (), *, several: bool = False
    ) -> Contents:
        """Return the content of all added files; `told` are the pages that the recording lists."""
        exchanges, pages = self._exchanges()
        if several:
            order = sorted(range(len(exchanges)), key=lambda i: exchanges[i].started)
            exchanges, pages = [exchanges[i] for i in order], [pages[i] for i in order]
        return Contents(
            source=source,
            exchanges=exchanges,
            navigations=navigations(exchanges, told, pages),
            changes=(*self.changes, *self._notes.sentences()),
        )

    def _add(self, raw: RawRecord) -> None:
        if raw.field("warc-truncated") and raw.type == "response":
            self._notes.add("answers were cut off when they were recorded", raw.where)
        http = self._http(raw)
        if http is None and raw.type != "revisit":
            return
        self._records.append(
            _Record(
                kind=raw.type,
                where=raw.where,
                refers=Refers(
                    id=_bare(raw.field("warc-record-id")),
                    uri=raw.uri,
                    date=raw.field("warc-date"),
                    digest=raw.field("warc-payload-digest"),
                    to_id=_bare(raw.field("warc-refers-to")),
                    to_uri=_bare(raw.field("warc-refers-to-target-uri")),
                    to_date=raw.field("warc-refers-to-date"),
                ),
                concurrent_to=_bare(raw.field("warc-concurrent-to")),
                page_id=raw.field("warc-page-id"),
                http=http,
            )
        )

    def _http(self, raw: RawRecord) -> Recorded | None:
        """Return the HTTP message in a record's block; None if it is not readable."""
        is_request = raw.type == "request"
        if not raw.block.strip():
            if raw.type == "response":
                self._notes.add("records left out, because their block is empty", raw.where)
            return None
        if len(raw.block) > _MOST_HEAD and not _HEAD_END.search(raw.block, 0, _MOST_HEAD):
            self._notes.add("records left out, because their HTTP headers do not end", raw.where)
            return None
        block = io.BytesIO(raw.block)
        http = (_REQUEST if is_request else _ANSWER).parse(block)
        status = "0" if is_request else http.get_statuscode()
        if not (status.isascii() and status.isdecimal() and len(status) < 4):
            self._notes.add("records left out, because they have no status code", raw.where)
            return None
        headers: Headers = tuple((str(n), str(v)) for n, v in http.headers)
        body = dechunked(block.read(), headers)
        return SpooledExchange(
            url=raw.uri,
            method=http.protocol if is_request else "GET",
            status=int(status),
            status_text="" if is_request else http.statusline.partition(" ")[2],
            http_version="HTTP/1.1" if is_request else http.protocol,
            headers=headers,
            upload_bytes=len(body) if is_request else 0,
            started=self._date(raw),
            server_ip=raw.field("warc-ip-address"),
            load=bytes if is_request else self._spool.keep(body),
        )

    def _date(self, raw: RawRecord) -> datetime:
        """Return the start time of the record; if it has none, that of the record before it."""
        try:
            date = datetime.fromisoformat(raw.field("warc-date"))
            self._latest = date if date.tzinfo else date.replace(tzinfo=UTC)
        except ValueError:
            self._notes.add(
                "records have a WARC-Date that is no time, and keep their place", raw.where
            )
        return self._latest

    def _exchanges(self) -> tuple[list[Recorded], list[str]]:
        """Return the answers, completed by their requests and by the bodies that they refer to, and
        their page ids."""
        asked = _Requests([r for r in self._records if r.kind == "request"])
        held = [r for r in self._records if r.kind == "response" and r.http]
        bodies = Bodies([(r.refers, r.http) for r in held if r.http])
        exchanges, pages = [], []
        for record in self._records:
            if record.kind == "request":
                continue
            answer = record.http
            if record.kind == "revisit":
                answer = self._revisited(record, bodies.of(record.refers))
                if answer:
                    bodies.add(record.refers, answer)
            if answer is None:
                continue
            request = asked.of(record)
            if request and request.http:
                answer = structs.replace(
                    answer,
                    method=request.http.method,
                    request_headers=request.http.headers,
                    upload_bytes=request.http.upload_bytes,
                )
            exchanges.append(answer)
            pages.append(record.page_id or (request.page_id if request else ""))
        return exchanges, pages

    def _revisited(self, record: _Record, found: Recorded | None) -> Recorded | None:
        if not isinstance(found, SpooledExchange):
            what = "revisits left out, because the file does not hold the body they refer to"
            self._notes.add(what, record.where)
            return None
        own = record.http
        if not isinstance(own, SpooledExchange) or own.status == 304:
            started = own.started if own else found.started
            return structs.replace(found, url=record.refers.uri, started=started)
        return structs.replace(own, load=found.load)


def _bare(identifier: str) -> str:
    """Return the identifier without its angle brackets, which some writers leave out."""
    return identifier.strip().removeprefix("<").removesuffix(">")


class _Requests:
    """Collects requests by the identifiers that their answers use."""

    def __init__(self, found: Sequence[_Record]) -> None:
        self._by_id: dict[str, _Record] = {}
        self._by_uri: dict[str, list[_Record]] = {}
        for record in found:
            self._by_id[record.concurrent_to or record.refers.id] = record
            if not record.concurrent_to:
                self._by_uri.setdefault(record.refers.uri, []).append(record)

    def of(self, answer: _Record) -> _Record | None:
        found = self._by_id.get(answer.refers.id) or self._by_id.get(answer.concurrent_to)
        if found is None and (untied := self._by_uri.get(answer.refers.uri)):
            found = untied.pop(0)
        return found
