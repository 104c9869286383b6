"""PAGE, as it is given on the command line and in studies, becomes a page."""

import functools
import hashlib
from collections.abc import Callable
from pathlib import Path

from dragstrip.model.page import Page
from dragstrip.pages.archive import SUFFIX, load_page, write_page
from dragstrip.pages.demo import demo
from dragstrip.pages.har_import import read_har
from dragstrip.pages.recording import PageError, Recording
from dragstrip.pages.synth import parse_spec, synth
from dragstrip.pages.warc import read_warc

IMPORTERS: dict[str, Callable[[Path, str], Recording]] = {
    ".har": read_har,
    ".warc": read_warc,
    ".warc.gz": read_warc,
}
"""File ending -> importer, called with the file and the page's name."""

KNOWN = "give a file (" + ", ".join((SUFFIX, *IMPORTERS)) + "), demo, or synth:64x10KB"


def resolve(page: str, cache: Path) -> Page:
    """The page that `page` names: a file, ``demo`` or ``synth:64x10KB``.

    What has to be made first is kept in the folder `cache` under a key of its input and of the
    code that makes it, so the second time it is only loaded. Raises `PageError`.
    """
    if page == "demo":
        return _cached(cache, "demo", b"", demo)
    if page.startswith("synth:"):
        spec = page.removeprefix("synth:")
        parse_spec(spec)
        return _cached(cache, f"synth-{spec}", b"", lambda: synth(spec))
    path = Path(page)
    if not path.exists():
        raise PageError(f"there is no page {page!r}: {KNOWN}")
    if page.lower().endswith(SUFFIX):
        return load_page(path)
    name, importer = _importer(path)
    return _cached(cache, name, _read(path), lambda: importer(path, name))


def import_page(path: Path, out: Path) -> Page:
    """Import the recording `path` into the page file `out`. Raises `PageError`."""
    name, importer = _importer(path)
    return write_page(out, importer(path, name))


def _importer(path: Path) -> tuple[str, Callable[[Path, str], Recording]]:
    """The page's name and what imports it."""
    for ending, importer in IMPORTERS.items():
        if path.name.lower().endswith(ending) and len(path.name) > len(ending):
            return path.name[: -len(ending)], importer
    raise PageError(f"{path} is not a kind of recording that can be imported: {KNOWN}")


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
    """A digest of this package, so that a cache never outlives the code that filled it."""
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*")):
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(file.read_bytes())
    return digest.digest()


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PageError(f"{path} cannot be read: {error.strerror or error}") from None
