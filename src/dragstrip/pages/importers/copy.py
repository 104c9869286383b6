"""Imports a file that is already a page file."""

import shutil
import zipfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from dragstrip.model.page import Page
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import load_page
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.format.rewrite import rewrite
from dragstrip.pages.importers.wish import Wish


def copy_page(page: Page, out: Path, wish: Wish) -> Page:
    """Copy the page file with the requested `done` and think time. Raises `PageError` for options
    that only a recording supports."""
    plain = Wish()
    for name in ("part", "busy", "keep_http", "keep_secrets"):
        if getattr(wish, name) != getattr(plain, name):
            option = "page" if name == "part" else name.replace("_", "-")
            raise PageError(
                f"{page.path} is a page file already, so --{option} has nothing to choose; import "
                "the recording it was made of"
            )

    if wish.think_ms is None and wish.done == plain.done:
        return _copied(page.path, out)

    def change(log: har.Log, _: zipfile.ZipFile) -> tuple[har.Log, Mapping[str, bytes]]:
        done = log.dragstrip.done if wish.done == plain.done else wish.done
        extra = structs.replace(log.dragstrip, done=done)
        if wish.think_ms is None:
            return structs.replace(log, dragstrip=extra), {}
        said = (*extra.changes, thinks(wish.think_ms, page.url))
        entries = tuple(_thinking(e, page.url, wish.think_ms) for e in log.entries)
        extra = structs.replace(extra, changes=said)
        return structs.replace(log, dragstrip=extra, entries=entries), {}

    return rewrite(page, out, change)


def _copied(path: Path, out: Path) -> Page:
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, out)
    except OSError as error:
        raise PageError(f"{out} cannot be written: {error.strerror or error}") from None
    return load_page(out)


def thinks(think_ms: float, url: str) -> str:
    """Return a sentence on a think time given at an import."""
    return f"the server takes {think_ms:g} ms for {url}, as asked for at its import"


def _thinking(entry: har.Entry, url: str, think_ms: float) -> har.Entry:
    if entry.request.url != url:
        return entry
    return structs.replace(entry, dragstrip=structs.replace(entry.dragstrip, think_ms=think_ms))
