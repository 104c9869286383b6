"""Reads the records of a WARC or ARC file as a stream through warcio, within limits."""

import io
from collections.abc import Iterator
from contextlib import redirect_stderr
from pathlib import Path
from typing import IO

from msgspec import Struct
from warcio.archiveiterator import ArchiveIterator
from warcio.bufferedreaders import BufferedReader
from warcio.exceptions import ArchiveLoadFailed
from warcio.statusandheaders import StatusAndHeadersParserException

from dragstrip.pages.format.recording import PageError, one_line
from dragstrip.pages.importers.limits import Beyond, Limits, Meter, beyond, check_body
from dragstrip.pages.importers.plain import BAD_PACKING, unpacked

# The exceptions that warcio raises for damaged files, and `Damaged`.
_BAD_WARC = (ArchiveLoadFailed, StatusAndHeadersParserException, *BAD_PACKING, ValueError)
_MOST_HEADER = 1_000_000
_MOST_BLANKS = 1_000


class Damaged(ValueError):
    """Raised for a truncated or inconsistent file; the text says where."""


class RawRecord(Struct, frozen=True, kw_only=True):
    where: str
    """The record's place in words, such as ``record 3 (https://a.test/)``."""
    type: str
    uri: str
    fields: dict[str, str]
    """Header fields by name in lower case."""
    block: bytes

    def field(self, name: str) -> str:
        return self.fields.get(name, "")


class _Lines(BufferedReader):  # type: ignore[misc]
    """A reader for warcio, which limits the length of lines and headers.

    If no empty line follows a record, the reader adds an empty line. Without it warcio would drop
    the first line of the next record.
    """

    def __init__(self, stream: IO[bytes], limits: Limits, *, arc: bool) -> None:
        super().__init__(stream)
        self._limits = limits
        self._arc = arc
        self._pushed = b""
        self._place = "start"
        self._header = self._blanks = 0
        self.unseparated = 0

    def readline(self, length: int | None = None) -> bytes:
        line = self._pushed or self._bounded()
        self._pushed = b""
        is_blank = not line.strip()
        if self._place == "block":
            self._place, self._blanks = "gap", 0
            if line.startswith(b"WARC/1.") or (self._arc and not is_blank):
                self._pushed = line
                self.unseparated += not self._arc
                return b"\r\n"
        elif self._place == "start" and not self._arc and not line.startswith(b"WARC/"):
            raise Damaged("it does not begin with WARC/" if line else "it holds nothing")
        if self._place == "header" and is_blank:
            self._place = "block"
        elif self._place in ("start", "gap") and not is_blank:
            self._place, self._header = "block" if self._arc else "header", 0
        self._count(line, is_blank=is_blank)
        return line

    def _bounded(self) -> bytes:
        line: bytes = super().readline(self._limits.max_name + 1)
        if len(line) > self._limits.max_name:
            if self._place == "start" and not line.startswith(b"WARC/"):
                raise Damaged("it does not begin with WARC/")
            raise beyond("a line of a header has", "max_name", self._limits.max_name)
        return line

    def _count(self, line: bytes, *, is_blank: bool) -> None:
        self._header += len(line)
        self._blanks = self._blanks + 1 if is_blank and line else 0
        if self._place == "header" and self._header > _MOST_HEADER:
            raise Damaged(f"a record's header is longer than {_MOST_HEADER} bytes")
        if self._blanks > _MOST_BLANKS:
            raise Damaged(f"{_MOST_BLANKS} empty lines follow each other")


def records(
    file: IO[bytes], path: Path | str, meter: Meter, changes: list[str], *, arc: bool = False
) -> Iterator[RawRecord]:
    """Yield the records of an opened file; `path` names it in errors. Sentences on repairs are
    added to `changes`. Raises `PageError`."""
    where = "its first record"
    try:
        # warcio gets no HTTP to parse, because it would take an incomplete message for the end of
        # the file. The exceptions say more about damage than the text that warcio prints.
        with redirect_stderr(io.StringIO()):
            lines = _Lines(unpacked(file, meter), meter.limits, arc=arc)
            archive = ArchiveIterator(io.BytesIO(), no_record_parse=True, arc2warc=arc)
            archive.reader = lines
            for number, record in enumerate(archive, start=1):
                meter.record()
                fields = {n.lower(): v for n, v in reversed(record.rec_headers.headers)}
                uri = fields.get("warc-target-uri", "")
                where = f"record {number} ({one_line(uri)})"
                if not fields.get("content-length", "").strip().isdecimal():
                    raise Damaged(f"{where} has no Content-Length")
                check_body(int(fields["content-length"]), "its block", meter.limits)
                block = record.raw_stream.read()
                if missing := record.raw_stream.limit:
                    raise Damaged(f"{where} is truncated, {missing} bytes are missing")
                yield RawRecord(
                    where=where, type=record.rec_type or "", uri=uri, fields=fields, block=block
                )
                where = f"what follows record {number}"
        if archive.err_count:
            raise Damaged("the length of a record is wrong")
        if lines.unseparated:
            changes.append(
                f"{lines.unseparated} records are not followed by empty lines, and are read as if "
                "they were"
            )
    except Beyond as error:
        raise PageError(f"{path}, {where}: {error}") from None
    except _BAD_WARC as error:
        reason = one_line(str(error) or "it ends where a record should begin")
        raise PageError(f"{path} is not a complete WARC file: {reason}; record it again") from None
    except OSError as error:
        raise PageError(f"{path} cannot be read: {error.strerror or error}") from None
