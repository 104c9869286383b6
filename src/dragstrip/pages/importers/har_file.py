"""Reads HARs of other programs, in every container and dialect, into one list of exchanges."""

from datetime import datetime
from pathlib import Path

from msgspec import Struct

from dragstrip.pages.format.recording import EPOCH, PageError
from dragstrip.pages.importers.choose import others, which
from dragstrip.pages.importers.contents import RecordedNavigation
from dragstrip.pages.importers.har_container import open_har
from dragstrip.pages.importers.har_entry import HarExchange, Reader
from dragstrip.pages.importers.har_json import Part
from dragstrip.pages.importers.limits import DEFAULT, Limits, beyond
from dragstrip.pages.importers.sentences import Notes


class HarVisit(Struct, frozen=True, kw_only=True):
    """One page of a HAR."""

    title: str
    load_ms: float | None
    """Time of the load event in ms since the page's start; None if it was not recorded."""
    exchanges: tuple[HarExchange, ...]
    """Exchanges in the order of their starts."""
    creator: str
    of: int
    """Number of pages in the HAR."""
    number: int
    changes: tuple[str, ...] = ()
    """Sentences on what had to be changed, and on the HAR's other pages."""
    others: tuple[str, ...] = ()
    """URLs of documents in the HAR's other pages, each with its number: ``#2 https://...``."""


class _Entry(Struct, frozen=True, kw_only=True):
    part: Part
    place: str
    started: datetime
    page: int


def read_visit(path: Path, wanted: str = "", limits: Limits = DEFAULT) -> HarVisit:
    """Read a page of a HAR. `wanted` is the page's number (from 1), id, URL or title; empty means
    the first page. A HAR without pages is one page. Raises `PageError`, which names the file and
    the place in it."""
    log, bodies = open_har(path, limits)
    try:
        notes = Notes()
        pages = log.parts("pages") or [Part({})]
        entries = _entries(log, pages, notes, limits)
        navigations = _navigations(pages, entries)
        number = which(navigations, wanted)
        mine = [e for e in entries if e.page == number]
        if not mine:
            raise PageError(f"log.pages[{number}]: it has no entries; choose another page")
        page, creator = pages[number], log.part("creator")
        begun = page.moment("startedDateTime") or min(e.started for e in mine)
        read = Reader(bodies, notes).exchange
        exchanges = [read(e.part, e.place, e.started, begun) for e in mine]
        load_ms = page.part("pageTimings").number("onLoad")
        said = others(navigations, number, path.name) if len(pages) > 1 else ()
        return HarVisit(
            title=page.text("title", "id"),
            load_ms=load_ms if load_ms is not None and load_ms > 0 else None,
            exchanges=tuple(sorted(exchanges, key=lambda x: x.start_ms)),
            creator=" ".join(
                t
                for t in (creator.text("name") or "an unnamed program", creator.text("version"))
                if t
            ),
            of=len(pages),
            number=number + 1,
            changes=(*said, *notes.sentences()),
            others=tuple(
                f"#{n} {one.url}"
                for n, one in enumerate(navigations, 1)
                if one.url and n != number + 1
            ),
        )
    except PageError as error:
        raise PageError(f"{path}, {error}") from None


def _entries(log: Part, pages: list[Part], notes: Notes, limits: Limits) -> list[_Entry]:
    """Return the entries with a URL. An entry without a start time starts with the entry before it.
    An entry of an unknown page belongs to the first page."""
    parts = log.parts("entries")
    if len(parts) > limits.max_records:
        raise beyond("the number of its entries is", "max_records", limits.max_records)
    numbers = {page.text("id"): n for n, page in reversed(list(enumerate(pages)))}
    found: list[_Entry] = []
    started = next((s for p in (*pages, *parts) if (s := p.moment("startedDateTime"))), EPOCH)
    for index, part in enumerate(parts):
        place = f"log.entries[{index}]"
        if not part.part("request").text("url"):
            notes.add("entries left out, they have no request.url", place)
            continue
        told = part.moment("startedDateTime")
        if told is None:
            notes.add("entries without a startedDateTime taken to begin with the one before", place)
        started = told or started
        page = numbers.get(part.text("pageref"), 0)
        found.append(_Entry(part=part, place=place, started=started, page=page))
    return found


def _navigations(pages: list[Part], entries: list[_Entry]) -> list[RecordedNavigation]:
    """Return each page with the URL of its first document, if it has a document."""
    urls: dict[int, str] = {}
    for entry in entries:
        if entry.page not in urls and "html" in entry.part.part("response").part("content").text(
            "mimeType"
        ):
            urls[entry.page] = entry.part.part("request").text("url")
    return [
        RecordedNavigation(
            url=urls.get(n, ""), title=page.text("title"), id=page.text("id"), exchanges=()
        )
        for n, page in enumerate(pages)
    ]
