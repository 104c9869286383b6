"""Reads a page's graph, and writes it into a page file."""

import functools
import zipfile
from collections.abc import Mapping
from pathlib import Path

from msgspec import structs

from dragstrip.model.graph import Graph
from dragstrip.model.page import Page
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import HAR_MEMBER
from dragstrip.pages.format.recording import PageError
from dragstrip.pages.format.rewrite import rewrite
from dragstrip.pages.graph.structure import from_structure


def graph_of(page: Page) -> Graph:
    """Return the learned graph in the page file; if there is none, return a graph made from the
    page's structure. Raises `PageError` for a live page."""
    if page.live:
        raise PageError(f"{page.url} is live: only a recorded page has a graph")
    return learned_graph(page) or from_structure(page)


def learned_graph(page: Page) -> Graph | None:
    """Return the learned graph in the page file; None if there is none."""
    return _graph(page.path, page.digest)


def with_graph(page: Page, graph: Graph, out: Path) -> Page:
    """Write the page file again with this graph; `out` may be the page itself. The file appears
    complete or not at all. Raises `PageError`."""

    def change(log: har.Log, _: zipfile.ZipFile) -> tuple[har.Log, Mapping[str, bytes]]:
        return structs.replace(log, dragstrip=structs.replace(log.dragstrip, graph=graph)), {}

    return rewrite(page, out, change)


@functools.lru_cache(maxsize=64)
def _graph(path: Path, digest: str) -> Graph | None:
    """Return the stored graph of the page file with that digest."""
    with zipfile.ZipFile(path) as archive:
        return har.decode(archive.read(HAR_MEMBER)).log.dragstrip.graph
