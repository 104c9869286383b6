"""Reads a WACZ (Web Archive Collection Zipped 1.1): WARC files and a list of pages in a zip."""

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

import msgspec
from msgspec import Struct

from dragstrip.pages.format.recording import PageError, one_line
from dragstrip.pages.format.zips import BAD_ZIP
from dragstrip.pages.importers.contents import Contents, RecordedNavigation
from dragstrip.pages.importers.crawls.records import records
from dragstrip.pages.importers.crawls.warc import Crawl
from dragstrip.pages.importers.limits import DEFAULT, Limits, Meter, beyond, check_ratio
from dragstrip.pages.importers.plain import plain_file

ENDING = ".wacz"
_ENDINGS = (".warc", ".warc.gz", ".warc.zst")
PAGE_LISTS = ("pages.jsonl", "extraPages.jsonl")
"""Names of the lists of pages in the folder ``pages``."""


class _Page(Struct, frozen=True):
    """A line of a list of pages; the first line, which describes the list, has no URL."""

    url: str = ""
    id: str = ""
    title: str = ""


def read_wacz(path: Path, limits: Limits = DEFAULT) -> Contents:
    """Return the content of a WACZ. Raises `PageError`."""
    crawl = Crawl(limits)
    try:
        with plain_file(path) as file, zipfile.ZipFile(file) as archive:
            names = [n for n in archive.namelist() if n.lower().endswith(_ENDINGS)]
            if len(archive.namelist()) > limits.max_records:
                raise beyond(f"{path}: it holds", "max_records", limits.max_records)
            if not names:
                raise PageError(f"{path} holds no WARC file: it is no WACZ, or damaged")
            for name in sorted(names):
                where = f"{path}, {one_line(name)}"
                info = archive.getinfo(name)
                check_ratio(info.compress_size, info.file_size, where, limits)
                with archive.open(name) as member:
                    crawl.add(records(member, where, crawl.meter, crawl.changes))
            told = [
                page
                for name in PAGE_LISTS
                for page in _pages(archive, f"pages/{name}", path, crawl.meter)
            ]
    except (*BAD_ZIP, KeyError) as error:
        raise PageError(f"{path} is not a complete WACZ: {error}; export it again") from None
    return crawl.contents("a WACZ", told, several=len(names) > 1)


def _pages(
    archive: zipfile.ZipFile, name: str, path: Path, meter: Meter
) -> Iterator[RecordedNavigation]:
    if name not in archive.namelist():
        return
    with archive.open(name) as member:
        yield from read_pages(member, f"{path}, {name}", meter)


def read_pages(file: IO[bytes], where: str, meter: Meter) -> Iterable[RecordedNavigation]:
    """Yield the pages that a ``pages.jsonl`` lists. Raises `PageError`."""
    most = meter.limits.max_name * 100  # a page's whole text may stand in one line
    for number in range(1, meter.limits.max_records + 2):
        line = file.readline(most + 1)
        if not line:
            return
        if len(line) > most:
            raise beyond(f"{where}, line {number} has", "max_name", meter.limits.max_name)
        meter.unpacked(len(line))
        if not line.strip():
            continue
        try:
            page = msgspec.json.decode(line, type=_Page)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise PageError(f"{where}, line {number}: {error}; export it again") from None
        if page.url:
            yield RecordedNavigation(url=page.url, id=page.id, title=page.title, exchanges=())
    raise beyond(f"{where}: the number of its lines is", "max_records", meter.limits.max_records)
