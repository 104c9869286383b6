"""Reads a page's graph, and writes it into a page file."""

import functools
import os
import tempfile
import zipfile
from pathlib import Path

from msgspec import structs

from dragstrip.model.graph import Graph
from dragstrip.model.page import Page
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import HAR_MEMBER, load_page
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.graph.structure import from_structure


def graph_of(page: Page) -> Graph:
    """The learned graph in the page file; without one, that of its structure. Raises `PageError`
    for a live page."""
    if page.live:
        raise PageError(f"{page.url} is live: only a recorded page has a graph")
    return _graph(page.path, page.digest) or from_structure(page)


def with_graph(page: Page, graph: Graph, out: Path) -> Page:
    """Write the page file again, with this graph in it; `out` may be the page itself. It appears
    whole or not at all. Raises `PageError`."""
    unfinished = None
    try:
        handle, unfinished = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.")
        with (
            os.fdopen(handle, "wb") as file,
            zipfile.ZipFile(page.path) as old,
            zipfile.ZipFile(file, "w") as new,
        ):
            for member in old.infolist():
                data = old.read(member)
                if member.filename == HAR_MEMBER:
                    data = _with(data, graph)
                new.writestr(zipfile.ZipInfo(member.filename, member.date_time), data)
        os.chmod(unfinished, 0o644)
        os.replace(unfinished, out)
        return load_page(out)
    except OSError as error:
        raise PageError(f"{out} cannot be written: {error.strerror or error}") from None
    finally:
        if unfinished:
            Path(unfinished).unlink(missing_ok=True)


def _with(text: bytes, graph: Graph) -> bytes:
    whole = har.decode(text)
    extra = structs.replace(whole.log.dragstrip, graph=graph)
    return har.encode(structs.replace(whole, log=structs.replace(whole.log, dragstrip=extra)))


@functools.lru_cache(maxsize=64)
def _graph(path: Path, digest: str) -> Graph | None:
    """Of the page file with that digest."""
    with zipfile.ZipFile(path) as archive:
        return har.decode(archive.read(HAR_MEMBER)).log.dragstrip.graph
