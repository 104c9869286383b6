"""Turns PAGE, an argument of the command line and of studies, into a page."""

import functools
import hashlib
import os
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import structs

from dragstrip.model.done import parse_done
from dragstrip.model.page import Page
from dragstrip.pages import corpus
from dragstrip.pages.format.archive import SUFFIX, load_page, write_page
from dragstrip.pages.format.recording import PageError, Recording
from dragstrip.pages.generators.synth import parse_spec, synth
from dragstrip.pages.importers.copy import copy_page, thinks
from dragstrip.pages.importers.har_container import is_page_file
from dragstrip.pages.importers.kinds import ACCEPTED, files_of, importer, read_recording
from dragstrip.pages.importers.plain import plain_file
from dragstrip.pages.importers.wish import Wish


def _demo() -> Recording:
    from dragstrip.pages.demo import demo  # loads slowly

    return demo()


def expand(page: str) -> list[str]:
    """Return the corpus pages of a set (``wolsing2019``) or a pattern (``cook2017/complex-*``).

    Any other text is returned unchanged.
    """
    if _exists(page):
        return [page]
    names = [n for n in corpus.known() if fnmatchcase(n, page) or n.startswith(f"{page}/")]
    return names or [page]


def resolve(page: str, cache: Path) -> Page:
    """Return the page that `page` names: a file, a name of the corpus, ``demo`` or
    ``synth:64x10KB``.

    ``FILE#2`` is the second page of a recording; an id or a title may stand for the number. A page
    that has to be made is stored in the folder `cache`, under a key of its input and of the code
    that makes it. The next time, it is only loaded. Raises `PageError`.
    """
    if page == "demo":
        return _cached(cache, named(page), b"", _demo)
    if page.startswith("synth:"):
        spec = page.removeprefix("synth:")
        parse_spec(spec)
        return _cached(cache, named(page), b"", lambda: synth(spec))
    if known := corpus.known().get(page):
        return _cached(cache, named(page), b"", lambda: corpus.recording(known))
    path, part = split(page)
    if _is_page(page, path):
        return load_page(path.absolute())  # a guest has another current folder
    name, read = named(page), importer(path)[1]
    content = _content(path) + part.encode()
    return _cached(cache, name, content, lambda: read(path, name, Wish(part=part)))


def named(page: str) -> str:
    """Return the name of the page that `page` stands for, without making it. Raises `PageError`."""
    if page == "demo" or page.startswith("synth:") or page in corpus.known():
        return page.replace("/", "-").replace(":", "-")
    path, part = split(page)
    if _is_page(page, path):
        return load_page(path).name
    tail = f"-{hashlib.sha256(part.encode()).hexdigest()[:6]}" if part else ""
    return importer(path)[0] + tail


def _is_page(page: str, path: Path) -> bool:
    """Return whether this is a page file, which needs no import."""
    return page.lower().endswith(SUFFIX) and is_page_file(path)


def import_page(path: Path, out: Path, wish: Wish | None = None) -> Page:
    """Import the recording `path` into the page file `out`. A page file is only copied. Raises
    `PageError`."""
    wish = wish or Wish()
    parse_done(wish.done)
    if _is_page(str(path), path):
        return copy_page(load_page(path), out, wish)
    recording = structs.replace(read_recording(path, wish), done=wish.done)
    if wish.think_ms is not None:
        recording = _thinking(recording, wish.think_ms)
    return write_page(out, recording)


def _thinking(recording: Recording, think_ms: float) -> Recording:
    answers = (
        structs.replace(a, think_ms=think_ms) if a.url == recording.url else a
        for a in recording.answers
    )
    changes = (*recording.changes, thinks(think_ms, recording.url))
    return structs.replace(recording, answers=tuple(answers), changes=changes)


def page_name(path: Path) -> str:
    """Return the default name of the page in a recording. Raises `PageError`."""
    return importer(path)[0]


def split(page: str) -> tuple[Path, str]:
    """Split ``FILE#2`` into the file and the part. Raises `PageError` if there is no such file."""
    if _exists(page):
        return Path(page), ""
    file, _, part = page.rpartition("#")
    if not file or not _exists(file):
        if now := corpus.instead_of(page):
            raise PageError(
                f"there is no page {page!r}: {now} replaced it, which is as fast and not the site"
            )
        raise PageError(f"there is no page {page!r}: {ACCEPTED}")
    return Path(file), part


def _exists(file: str) -> bool:
    try:
        return bool(file) and Path(file).exists()
    except OSError:  # no file can have this name
        return False


def _cached(cache: Path, name: str, content: bytes, make: Callable[[], Recording]) -> Page:
    key = hashlib.sha256(_code() + content).hexdigest()[:16]
    path = cache / f"{name}-{key}{SUFFIX}"
    if path.exists():
        try:
            return load_page(path)
        except PageError:
            path.unlink(missing_ok=True)
    return write_page(path, make())


@functools.cache
def _code() -> bytes:
    """Return a digest of this package. It is part of cache keys, so that pages made by other code
    are not used."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(file.read_bytes())
    return digest.digest()


def _content(path: Path) -> bytes:
    """Return a digest of all files that an importer reads."""
    digest = hashlib.sha256()
    for file in files_of(path):
        digest.update(os.fsencode(file) + b"\0")
        with plain_file(file) as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.digest()
