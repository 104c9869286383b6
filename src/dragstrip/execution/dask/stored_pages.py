"""Finds pages on a worker: at the client's path if it exists here, otherwise in the cache."""

import hashlib
from pathlib import Path

from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip.model.page import Page
from dragstrip.model.study import Study
from dragstrip.testbed.cache import cache_folder, unfinished


def relocated(study: Study) -> Study | tuple[str, ...]:
    """Return the study with the paths that its pages have on this machine, or the digests of
    missing pages."""
    paths = {page.digest: _found(page) for page in study.pages}
    if missing := tuple(digest for digest, path in paths.items() if path is None):
        return missing
    pages = (structs.replace(page, path=paths[page.digest]) for page in study.pages)
    return structs.replace(study, pages=tuple(pages))


def store(digest: str, data: bytes) -> None:
    """Store a page in the cache. Raises `InputError` if `data` does not have this digest."""
    if _digest(data) != digest:
        raise InputError(f"page {digest}: what was sent is not the page; start again")
    target = _kept(digest)
    with unfinished(target.parent) as folder:
        draft = folder / target.name
        draft.write_bytes(data)
        draft.replace(target)


def _found(page: Page) -> Path | None:
    if page.live:
        return page.path
    for path in (page.path, _kept(page.digest)):
        if path.is_file() and _digest(path.read_bytes()) == page.digest:
            return path
    return None


def _kept(digest: str) -> Path:
    return cache_folder("sent-pages").absolute() / f"{digest}.har.zip"


def _digest(data: bytes) -> str:
    """Return the digest of a page file, as in `dragstrip.model.page.Page.digest`."""
    return hashlib.sha256(data).hexdigest()[:12]
