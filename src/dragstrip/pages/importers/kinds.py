"""Chooses the reader of a recording, by the ending of its name or the content of a folder."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from dragstrip.pages.format.recording import PageError, Recording
from dragstrip.pages.importers.contents import Contents
from dragstrip.pages.importers.crawls.mitmproxy import ENDINGS as FLOW_ENDINGS
from dragstrip.pages.importers.crawls.mitmproxy import read_flows
from dragstrip.pages.importers.crawls.wacz import ENDING as WACZ_ENDING
from dragstrip.pages.importers.crawls.wacz import read_wacz
from dragstrip.pages.importers.crawls.warc import ENDINGS as WARC_ENDINGS
from dragstrip.pages.importers.crawls.warc import read_warc
from dragstrip.pages.importers.folders import read_folder
from dragstrip.pages.importers.har_container import HARS, attached
from dragstrip.pages.importers.limits import DEFAULT, Limits
from dragstrip.pages.importers.plain import plain_files
from dragstrip.pages.importers.prepare import page_of
from dragstrip.pages.importers.saved.html_file import read_saved, saved_files
from dragstrip.pages.importers.saved.mhtml import ENDINGS as MHTML_ENDINGS
from dragstrip.pages.importers.saved.mhtml import read_mhtml
from dragstrip.pages.importers.wish import Wish

SAVED = (".html", ".htm", ".xhtml")
Reader = Callable[[Path, Limits], Contents]
Importer = Callable[[Path, str, Wish], Recording]
"""Called with the file, the page's name and the options; returns the recording."""


def _har(path: Path, name: str, wish: Wish) -> Recording:
    from dragstrip.pages.importers.har_import import read_har  # drawing pictures loads slowly

    return read_har(path, name, wish)


def _by(read: Reader) -> Importer:
    return lambda path, name, wish: page_of(read(path, wish.limits), path, name, wish)


IMPORTERS: dict[str, Importer] = {
    **dict.fromkeys(WARC_ENDINGS, _by(read_warc)),
    **dict.fromkeys(HARS, _har),
    **dict.fromkeys(SAVED, _by(read_saved)),
    **dict.fromkeys(MHTML_ENDINGS, _by(read_mhtml)),
    WACZ_ENDING: _by(read_wacz),
    **dict.fromkeys(FLOW_ENDINGS, _by(read_flows)),
}
"""Importers by the lower-case ending of a file's name. HARs have a special importer, because they
may have no bodies."""

ACCEPTED = (
    f"give a file ({', '.join(IMPORTERS)}), a folder of WARC files, of mirrored hosts or of "
    "mm-webrecord, a name of `dragstrip list pages`, demo, or synth:64x10KB"
)
_MOST_NAME = 100
"""Most bytes of a page's name, which is also used for file names."""


def importer(path: Path) -> tuple[str, Importer]:
    """Return the page's name and its importer. Raises `PageError`."""
    for ending, found in IMPORTERS.items():
        if path.name.lower().endswith(ending) and len(path.name) > len(ending):
            return _named(path.name[: -len(ending)]), found
    if path.is_dir() and path.resolve().name:
        alone = _only_har(path)
        own = _by(read_folder) if alone is None else partial(_har_in, alone)
        return _named(path.resolve().name), own
    raise PageError(f"{path} is not a recording that can be imported: {ACCEPTED}")


def _only_har(folder: Path) -> Path | None:
    """Return the only HAR in a folder, whose other files are then its bodies; None if there is none
    or several. Raises `PageError`."""
    try:
        hars = [f for f in folder.iterdir() if f.name.lower().endswith(HARS)]
    except OSError as error:
        raise PageError(f"{folder} cannot be read: {error.strerror or error}") from None
    return hars[0] if len(hars) == 1 else None


def _har_in(har: Path, _folder: Path, name: str, wish: Wish) -> Recording:
    return _har(har, name, wish)


def files_of(path: Path) -> list[Path]:
    """Return the files that the importer of `path` reads, and perhaps more. Raises `PageError`."""
    if path.is_dir():
        return plain_files(path, DEFAULT)[0]
    if path.name.lower().endswith(SAVED):
        return saved_files(path)
    return [path, *attached(path)] if path.name.lower().endswith(HARS) else [path]


def _named(text: str) -> str:
    return os.fsencode(text)[:_MOST_NAME].decode("utf-8", "ignore") or "page"


def read_recording(path: Path, wish: Wish | None = None) -> Recording:
    """Read the page that `wish` selects from a recording, ready to be written. Raises
    `PageError`."""
    name, read = importer(path)
    return read(path, name, wish or Wish())
