"""PAGE, as it is given on the command line and in studies, becomes a page."""

import functools
import hashlib
from collections.abc import Callable
from fnmatch import fnmatchcase
from pathlib import Path

from msgspec import Struct

from dragstrip.model.page import Page
from dragstrip.pages import corpus
from dragstrip.pages.format.archive import SUFFIX, load_page, write_page
from dragstrip.pages.format.recording import PageError, Recording
from dragstrip.pages.generators.synth import parse_spec, synth
from dragstrip.pages.importers.har_file import is_page_file
from dragstrip.pages.importers.saved import read_saved
from dragstrip.pages.importers.warc import read_warc


class Wish(Struct, frozen=True, kw_only=True):
    """What to take from a recording, where it leaves a choice."""

    part: str = ""
    """Page of a HAR with many: its number from 1, its id or its title; the first by default."""
    busy: bool = False
    """Made-up scripts keep the browser busy as long as the recorded ones seem to have."""
    keep_http: bool = False
    """Serve http:// as it is, by HTTP/1.1 without TLS, instead of as https://."""


def _warc(path: Path, name: str, wish: Wish) -> Recording:
    return read_warc(path, name, keep_http=wish.keep_http)


Importer = Callable[[Path, str, Wish], Recording]


def _har(path: Path, name: str, wish: Wish) -> Recording:
    from dragstrip.pages.importers.har_import import read_har  # what draws pictures loads slowly

    return read_har(path, name, wish.part, busy=wish.busy, keep_http=wish.keep_http)


IMPORTERS: dict[str, Importer] = {
    ".warc": _warc,
    ".warc.gz": _warc,
    ".har": _har,
    ".har.gz": _har,
    ".har.zst": _har,
    ".har.zip": _har,
    ".html": lambda path, name, _: read_saved(path, name),
    ".htm": lambda path, name, _: read_saved(path, name),
}
"""File ending -> importer, called with the file, the page's name and the wish."""


def _folder(path: Path, name: str, wish: Wish) -> Recording:
    from dragstrip.pages.importers.mahimahi import read_mahimahi  # loads slowly

    return read_mahimahi(path, name, keep_http=wish.keep_http)


def _demo() -> Recording:
    from dragstrip.pages.demo import demo  # loads slowly

    return demo()


ACCEPTED = (
    f"give a file ({', '.join(IMPORTERS)}), a Mahimahi folder, a name of `dragstrip list pages`, "
    "demo, or synth:64x10KB"
)


def expand(page: str) -> list[str]:
    """The corpus pages of a set (``wolsing2019``) or a pattern (``cook2017/complex-*``).

    Anything else is returned unchanged.
    """
    if Path(page).exists():
        return [page]
    names = [n for n in corpus.known() if fnmatchcase(n, page) or n.startswith(f"{page}/")]
    return names or [page]


def resolve(page: str, cache: Path) -> Page:
    """The page that `page` names: a file, a name of the corpus, ``demo`` or ``synth:64x10KB``.

    ``FILE#2`` is the second page of a HAR with many; an id or a title will do as well. What has to
    be made first is kept in the folder `cache` under a key of its input and of the code that makes
    it, so the second time it is only loaded. Raises `PageError`.
    """
    if page == "demo":
        return _cached(cache, named(page), b"", _demo)
    if page.startswith("synth:"):
        spec = page.removeprefix("synth:")
        parse_spec(spec)
        return _cached(cache, named(page), b"", lambda: synth(spec))
    if known := corpus.known().get(page):
        return _cached(cache, named(page), b"", lambda: corpus.recording(known))
    path, part = _split(page)
    if _is_page(page, path):
        return load_page(path.absolute())  # a guest has another current folder
    name, importer = named(page), _importer(path)[1]
    content = _content(path) + part.encode()
    return _cached(cache, name, content, lambda: importer(path, name, Wish(part=part)))


def named(page: str) -> str:
    """What the page that `page` names is called, without making it. Raises `PageError`."""
    if page == "demo" or page.startswith("synth:") or page in corpus.known():
        return page.replace("/", "-").replace(":", "-")
    path, part = _split(page)
    if _is_page(page, path):
        return load_page(path).name
    tail = f"-{hashlib.sha256(part.encode()).hexdigest()[:6]}" if part else ""
    return _importer(path)[0] + tail


def _is_page(page: str, path: Path) -> bool:
    """Whether it needs no importing."""
    return page.lower().endswith(SUFFIX) and is_page_file(path)


def import_page(path: Path, out: Path, wish: Wish | None = None) -> Page:
    """Import the recording `path` into the page file `out`. Raises `PageError`."""
    name, importer = _importer(path)
    return write_page(out, importer(path, name, wish or Wish()))


def page_name(path: Path) -> str:
    """What the page in a recording is called by default. Raises `PageError`."""
    return _importer(path)[0]


def _split(page: str) -> tuple[Path, str]:
    """The file and, of ``FILE#2``, what follows."""
    if Path(page).exists():
        return Path(page), ""
    file, _, part = page.rpartition("#")
    if not file or not Path(file).exists():
        raise PageError(f"there is no page {page!r}: {ACCEPTED}")
    return Path(file), part


def _importer(path: Path) -> tuple[str, Importer]:
    """The page's name and what imports it."""
    for ending, importer in IMPORTERS.items():
        if path.name.lower().endswith(ending) and len(path.name) > len(ending):
            return path.name[: -len(ending)], importer
    if path.is_dir() and path.name:
        return path.name, _folder
    raise PageError(f"{path} is not a recording that can be imported: {ACCEPTED}")


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


def _content(path: Path) -> bytes:
    """A digest of all that an importer reads: the file, or its folder with all its contents."""
    digest = hashlib.sha256()
    try:
        for file in _files(path):
            digest.update(str(file).encode() + b"\0" + file.read_bytes())
    except OSError as error:
        raise PageError(f"{path} cannot be read: {error.strerror or error}") from None
    return digest.digest()


def _files(path: Path) -> list[Path]:
    """The file, or all of a folder; with a saved page all that lies in folders of its name."""
    if path.is_dir():
        return sorted(p for p in path.rglob("*") if p.is_file())
    saved = path.suffix.lower() in (".html", ".htm")
    beside = [
        d for d in path.parent.iterdir() if d.is_dir() and saved and d.stem.startswith(path.stem)
    ]
    return [path, *(f for d in sorted(beside) for f in _files(d))]
