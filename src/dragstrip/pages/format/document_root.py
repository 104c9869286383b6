"""Writes a page as a folder of files, for servers that serve files."""

import zipfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

from dragstrip.model.page import Page
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import HAR_MEMBER
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.format.sockets import is_socket


def write_document_root(page: Page, folder: Path) -> None:
    """Write each recorded body to ``folder/HOST/PATH``, without content encoding. `folder` is
    created.

    Raises `PageError` for answers that files cannot represent: two at one path, a status other than
    200, or a method other than GET.
    """
    with zipfile.ZipFile(page.path) as archive:
        written: dict[Path, str] = {}
        for entry in har.decode(archive.read(HAR_MEMBER)).log.entries:
            if is_socket(entry):
                continue  # servers differ in what they do with such a path
            url = entry.request.url
            if entry.request.method != "GET" or entry.response.status != 200:
                raise PageError(
                    f"{page.path}: files cannot answer {entry.request.method} {url} with "
                    f"{entry.response.status}; let the server ask the origin ({{{{ upstream }}}})"
                )
            path, body = folder / _file(url), entry.response.content.file or ""
            if written.setdefault(path, body) != body:
                raise PageError(
                    f"{page.path}: the file for {url} would have two contents; let the server ask "
                    "the origin ({{ upstream }})"
                )
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(body) if body else b"")


def _file(url: str) -> str:
    parts = urlsplit(url)
    path = unquote(parts.path).lstrip("/")
    if ".." in Path(path).parts:
        raise PageError(f"{url} has no path under a document root")
    return f"{parts.hostname}/{path}" + ("index.html" if not path or path.endswith("/") else "")
