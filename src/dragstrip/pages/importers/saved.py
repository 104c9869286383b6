"""Import a page as browsers save it: an HTML file and its folder of files beside it."""

import mimetypes
import re
from pathlib import Path
from urllib.parse import quote, urljoin

from dragstrip.pages.format.recording import PageError, Recorded, Recording
from dragstrip.pages.format.urls import Unservable, servable
from dragstrip.pages.importers.prepare import prepare

_FOLDERS = ("_files", ".files", "-Dateien", "_fichiers")
"""What browsers append to the name of the HTML file."""
_SAVED_FROM = re.compile(rb"<!--\s*saved from url=\(\d+\)(\S+)\s*-->", re.IGNORECASE)
_NOWHERE = "https://saved.test/"
_TYPES = {
    ".js": "text/javascript",
    ".mjs": "text/javascript",
    ".css": "text/css",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


def read_saved(path: Path, name: str) -> Recording:
    """The page in an HTML file and its folder. Raises `PageError`.

    Everything is served from the host it was saved from, by the relative addresses that the browser
    wrote into the HTML; whatever it did not save is missing.
    """
    try:
        html = path.read_bytes()
        folder = next((f for f in map(path.with_name, _folders(path)) if f.is_dir()), None)
        files = sorted(f for f in folder.rglob("*") if f.is_file()) if folder else []
        bodies = [(f.relative_to(path.parent).as_posix(), f.read_bytes()) for f in files]
    except OSError as error:
        raise PageError(f"{path} cannot be read: {error.strerror or error}") from None
    if b"<" not in html:
        raise PageError(f"{path} holds no HTML; save the page again")
    base = _saved_from(html)
    try:
        answers = [_answer(base, "text/html; charset=utf-8", html)]
        answers += [_answer(urljoin(base, quote(n)), _type(n), body) for n, body in bodies]
        return prepare(name, f"{path.name}, a page saved from {base}", answers)
    except (PageError, ValueError) as error:
        raise PageError(f"{path}: {error}") from None


def _folders(path: Path) -> list[str]:
    return [path.stem + ending for ending in _FOLDERS]


def _saved_from(html: bytes) -> str:
    """Where the browser says it saved the page from; a made-up host if it does not say."""
    said = _SAVED_FROM.search(html[:4096])
    try:
        return servable(said[1].decode()) if said else _NOWHERE
    except (Unservable, UnicodeDecodeError):
        return _NOWHERE


def _type(name: str) -> str:
    # Chromium saves a script as name.js.download.
    ending = Path(name.removesuffix(".download")).suffix.lower()
    return _TYPES.get(ending) or mimetypes.types_map.get(ending, "application/octet-stream")


def _answer(url: str, content_type: str, body: bytes) -> Recorded:
    headers = (("content-type", content_type), ("access-control-allow-origin", "*"))
    return Recorded(url=url, status_text="OK", headers=headers, wire=body)
