"""Reads captures by any tool: HAR files, read leniently and reduced to the fields that the audit
judges.

A capture is one page of a HAR 1.2 file (http://www.softwareishard.com/blog/har-12-spec). A file
that names no page is one capture. Sizes are bytes on the wire, never decoded sizes; they are None
where a tool wrote none. `dragstrip.audit.dialects` knows how tools differ.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from math import inf
from pathlib import Path

from msgspec import Struct

from dragstrip.audit.dialects import (
    Family,
    connect_ms,
    end_ms,
    failed,
    from_cache,
    spoken,
    wire_bytes,
)
from dragstrip.model.errors import InputError
from dragstrip.pages.importers.har_container import open_har
from dragstrip.pages.importers.har_json import Part
from dragstrip.pages.importers.limits import DEFAULT

SUFFIXES = (".har", ".har.gz", ".har.zst")


class CapturedRequest(Struct, frozen=True, kw_only=True):
    """One entry of a capture. Times are ms since the capture began."""

    url: str
    protocol: Family
    wire_bytes: int | None
    end_ms: float
    """End of the request; infinite if the capture does not say."""
    connect_ms: float | None
    """Time that the request waited for a new connection; None if it used an open one."""
    cached: bool
    """Whether the answer came from a cache, a service worker or the tool itself, not from the
    network."""
    failed: bool


class CapturedPage(Struct, frozen=True, kw_only=True):
    name: str
    """File name without suffix. If the file holds several pages, the page's id follows behind
    ``#``."""
    title: str
    tool: str
    load_ms: float | None
    """Time of HAR's ``onLoad`` since the capture began; None if the capture has none."""
    answers: tuple[CapturedRequest, ...]
    unread: int
    """Number of entries without a URL or a start, which HAR 1.2 requires. They are left out."""

    def loaded_bytes(self) -> int | None:
        """Return bytes on the wire of all answers that ended before the load event; None if any
        size is unknown."""
        sizes = [a.wire_bytes for a in self.answers if a.end_ms <= (self.load_ms or 0)]
        known = [s for s in sizes if s is not None]
        return sum(known) if len(known) == len(sizes) else None


def find(paths: Iterable[Path]) -> list[Path]:
    """Find all captures in these files and folders (with subfolders), without repeats, sorted by
    path.

    Raises `InputError` if a path does not exist or holds no capture.
    """
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if _is_capture(p))
            if not inside:
                raise InputError(
                    f"{path}: no file in this folder ends in {', '.join(SUFFIXES)}; give a HAR or "
                    "the folder it is in"
                )
            found |= dict.fromkeys(inside)
        elif not path.exists():
            raise InputError(f"{path}: no such file or folder; give a HAR or the folder it is in")
        else:
            found[path] = None
    return list(found)


def _is_capture(path: Path) -> bool:
    return path.name.lower().endswith(SUFFIXES) and path.is_file()


def read(path: Path) -> Iterator[CapturedPage]:
    """Yield every page of a HAR file as a capture. Raises `InputError` naming file, place and
    cure."""
    log = open_har(path, DEFAULT).log
    creator = log.part("creator")
    tool = " ".join(t for t in (creator.text("name"), creator.text("version")) if t)
    entries = [_Entry(e) for e in log.parts("entries")]
    pages = log.parts("pages") or [Part({})]
    known = {p.text("id") for p in pages}
    first = pages[0].text("id")
    for page in pages:
        mine = [e for e in entries if (e.page if e.page in known else first) == page.text("id")]
        yield CapturedPage(
            name=_bare(path) + (f"#{page.text('id')}" if len(pages) > 1 else ""),
            title=page.text("title"),
            tool=tool,
            load_ms=_positive(page.part("pageTimings").number("onLoad")),
            answers=_answers(mine, page.moment("startedDateTime")),
            unread=sum(not e.is_readable for e in mine),
        )


class _Entry:
    """An element of ``log.entries``."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.page = part.text("pageref")
        self.url = part.part("request").text("url")
        self.started = part.moment("startedDateTime")

    @property
    def is_readable(self) -> bool:
        return bool(self.url) and self.started is not None


def _answers(entries: list[_Entry], begun: datetime | None) -> tuple[CapturedRequest, ...]:
    """Return the requests that went to a server. Schemes that never leave the browser (data, blob)
    are skipped."""
    begun = begun or min((e.started for e in entries if e.started), default=None)
    return tuple(
        CapturedRequest(
            url=e.url,
            protocol=spoken(e.part),
            wire_bytes=wire_bytes(e.part),
            end_ms=inf
            if begun is None
            else end_ms(e.part, (e.started - begun).total_seconds() * 1000),
            connect_ms=connect_ms(e.part),
            cached=from_cache(e.part),
            failed=failed(e.part),
        )
        for e in entries
        if e.url.lower().startswith(("http:", "https:")) and e.started
    )


def _positive(number: float | None) -> float | None:
    return number if number and number > 0 else None


def _bare(path: Path) -> str:
    """Return the file's name without its suffixes: ``A.HAR.gz`` -> ``A``."""
    name = path.name
    for suffix in (".gz", ".zst", ".har"):
        name = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    return name
