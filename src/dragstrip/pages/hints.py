"""Finds the links that an answer with status 103 (Early Hints, RFC 8297) may name before a page's
document."""

import zipfile
from collections.abc import Iterator, Mapping

from dragstrip.model.graph import Graph, Node
from dragstrip.model.links import ahead
from dragstrip.model.page import Page
from dragstrip.model.stack import EarlyHints
from dragstrip.pages.format import har
from dragstrip.pages.format.archive import HAR_MEMBER
from dragstrip.pages.graph.store import graph_of

_BLOCKING = {("Stylesheet", "VeryHigh"): "style", ("Script", "High"): "script"}
"""Preload destination of resources that block rendering, by Chromium's kind and priority."""


def early_hints(page: Page, named: EarlyHints) -> Mapping[str, tuple[str, ...]]:
    """Return the `link` values to send, by URL of the document; empty if there are none.

    Only the visit's own document has hints: browsers ignore the hints of frames. A recorded 103
    answer is sent again; without one, the links in the final answer's headers are used.
    """
    if named == "none" or page.live:
        return {}
    graph = graph_of(page)
    url = graph.nodes[graph.document].url
    links = tuple(_blocking(graph)) if named == "blocking" else _recorded(page, url)
    return {url: links} if links else {}


def _blocking(graph: Graph) -> Iterator[str]:
    named: set[str] = set()
    for node in graph.nodes:
        destination = _BLOCKING.get((node.kind, node.priority))
        if destination and _by_markup(node, graph) and node.url not in named:
            named.add(node.url)
            anonymous = "" if node.credentials else "; crossorigin"
            yield f"<{node.url}>; rel=preload; as={destination}{anonymous}"


def _by_markup(node: Node, graph: Graph) -> bool:
    ours = node.found == "markup" and node.initiator == graph.document
    return ours and node.method == "GET" and node.url.startswith("https:")


def _recorded(page: Page, url: str) -> tuple[str, ...]:
    with zipfile.ZipFile(page.path) as archive:
        entries = har.decode(archive.read(HAR_MEMBER)).log.entries
    answers = [e for e in entries if (e.request.method, e.request.url) == ("GET", url)]
    sent = next((e.early_hints for e in answers if e.early_hints), ())
    headers = answers[0].response.headers if answers else ()
    return ahead(sent) or ahead(h.value for h in headers if h.name.lower() == "link")
