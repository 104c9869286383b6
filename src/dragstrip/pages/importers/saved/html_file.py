"""Reads a page as browsers save it: an HTML file and the files that it names in the same folder."""

import glob
import os
import re
from pathlib import Path
from urllib.parse import quote, unquote, urljoin, urlsplit

from dragstrip.pages.format.recording import PageError, Recorded
from dragstrip.pages.format.urls import Unservable, servable
from dragstrip.pages.importers.contents import Contents
from dragstrip.pages.importers.limits import DEFAULT, Limits, Meter
from dragstrip.pages.importers.named import missing, named, text_of
from dragstrip.pages.importers.plain import plain_files, read_plain
from dragstrip.pages.importers.types import content_type, with_charset

_SAVED_FROM = re.compile(
    rb"<!--\s*saved from url=\(\d+\)(\S+)\s*-->|<!--\s*Page saved with SingleFile\s+url:\s*(\S+)",
    re.IGNORECASE,
)
_FOLDERS = ("_files", ".files", "-Dateien", "_fichiers")
"""Endings of the folder that browsers save next to the HTML file, in some languages."""
NOWHERE = "https://saved.test/"
UNTOLD = "sizes on the wire are those of the files: how bodies were compressed is not recorded"


def read_saved(path: Path, limits: Limits = DEFAULT) -> Contents:
    """Return the page in an HTML file and the files that belong to it. Raises `PageError`.

    All files are served from the host that the page was saved from, at the relative URLs that the
    browser wrote into the HTML. Files that the browser did not save are missing.
    """
    meter = Meter(limits)
    html = read_plain(path, meter)
    if b"<" not in html:
        raise PageError(f"{path} holds no HTML; save the page again")
    start = _start(html)
    exchanges = [start]
    files, said = _beside(path, start, limits)
    known = {start.url}
    left = list(files)
    for file in left:  # grows by files that style sheets and frames name
        found = _file(file, path.parent, start.url, meter)
        if found.url in known:
            continue
        known.add(found.url)
        exchanges.append(found)
        left += _named_files(path.parent, start.url, found, limits)
    return Contents(
        source=f"a page saved from {start.url}",
        exchanges=exchanges,
        changes=(*said, UNTOLD, *missing(exchanges, known)),
    )


def saved_files(path: Path) -> list[Path]:
    """Return the files that `read_saved` reads, and perhaps more. Raises `PageError`."""
    html = read_plain(path, Meter(DEFAULT))
    files, _ = _beside(path, _start(html), DEFAULT)
    return [path, *files]


def answer(url: str, kind: str, body: bytes) -> Recorded:
    """Return the answer for a file of a saved page. It allows every origin to read it."""
    headers = (("content-type", kind), ("access-control-allow-origin", "*"))
    return Recorded(url=url, status_text="OK", headers=headers, wire=body)


def _start(html: bytes) -> Recorded:
    return answer(_saved_from(html), with_charset("text/html", html), html)


def _saved_from(html: bytes) -> str:
    """Return the URL of the saved page, as the browser wrote it; a made-up host if it did not."""
    said = _SAVED_FROM.search(html[:4096])
    try:
        return servable((said[1] or said[2]).decode()) if said else NOWHERE
    except (Unservable, UnicodeDecodeError):
        return NOWHERE


def _beside(path: Path, start: Recorded, limits: Limits) -> tuple[list[Path], list[str]]:
    """Return the files that the page names, and sentences on skipped ones. If the page names a
    folder that has the page's name, all files of the folder count, because scripts compose file
    names."""
    text = text_of(start)
    files: dict[Path, None] = {}
    said: list[str] = []
    for folder in sorted(path.parent.glob(f"{glob.escape(path.stem)}*")):
        named_here = any(n in text for n in (folder.name, quote(folder.name, errors="replace")))
        if folder.is_dir() and (folder.name[len(path.stem) :] in _FOLDERS or named_here):
            inside, left_out = plain_files(folder, limits)
            files |= dict.fromkeys(inside)
            said += [f"{folder.name}/{sentence}" for sentence in left_out]
    files |= dict.fromkeys(_named_files(path.parent, start.url, start, limits))
    return list(files), said


def _named_files(folder: Path, base: str, exchange: Recorded, limits: Limits) -> list[Path]:
    """Return the plain files below `folder`, served from `base`, that a document or style sheet
    names."""
    found: dict[Path, None] = {}
    inside = folder.resolve()
    origin, _, _ = base.rpartition("/")
    for url, _ in named(exchange):
        if not url.startswith(f"{origin}/") or len(url) > limits.max_name:
            continue
        file = folder / unquote(urlsplit(url).path.removeprefix(urlsplit(f"{origin}/").path))
        try:
            place = Path(os.path.normpath(file))
            named_as = place.relative_to(folder)
            hidden = any(part.startswith(".") for part in named_as.parts)
            # This excludes links, which lead to another place.
            if not hidden and file.is_file() and file.resolve() == inside / named_as:
                found[place] = None
        except (OSError, ValueError, RuntimeError):
            continue  # no file can have this name
    return list(found)


def _file(file: Path, folder: Path, base: str, meter: Meter) -> Recorded:
    name = file.relative_to(folder).as_posix()
    body = read_plain(file, meter)
    return answer(
        urljoin(base, quote(name, errors="surrogateescape")), content_type(name, body), body
    )
