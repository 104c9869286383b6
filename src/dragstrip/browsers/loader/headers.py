"""Makes the request headers that Chromium would send, for the load generator, which parses no page.

The size of headers matters more than their values: headers fill the first packets and, over
HTTP/1.1, every request. Sources: the Fetch standard for Accept and Referer, Fetch Metadata for
Sec-Fetch-*, and what Chromium's NetLog shows of headless-shell.
"""

from collections.abc import Iterator
from urllib.parse import urlsplit

from dragstrip.model.graph import Graph, Node

Header = tuple[str, str]

_VERSION = "156.0.8078.79"
_MAJOR = _VERSION.partition(".")[0]
_AGENT = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
    f"HeadlessChrome/{_VERSION} Safari/537.36"
)
_BRANDS = f'"Not:A-Brand";v="8", "Chromium";v="{_MAJOR}", "HeadlessChrome";v="{_MAJOR}"'
_ACCEPT = {
    "Document": "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,"
    "image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
    "Stylesheet": "text/css,*/*;q=0.1",
    "Image": "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8",
}
_DESTINATION = {
    "Document": "document",
    "Stylesheet": "style",
    "Script": "script",
    "Image": "image",
    "Font": "font",
    "Media": "video",
}
_CORS = ("Font", "XHR", "Fetch", "Preflight")


def headers(graph: Graph, index: int) -> list[Header]:
    """Return the request headers in Chromium's order."""
    node = graph.nodes[index]
    return list(_headers(node, graph.nodes[0], _caller(graph, node)))


def _caller(graph: Graph, node: Node) -> Node | None:
    """Return the node whose URL is the Referer. It is the initiator, if that is a document or a
    style sheet; for a script it is the document that runs the script."""
    at = node.initiator
    while at is not None and graph.nodes[at].kind not in ("Document", "Stylesheet"):
        at = graph.nodes[at].initiator
    return None if at is None else graph.nodes[at]


def _headers(node: Node, start: Node, caller: Node | None) -> Iterator[Header]:
    secure = node.url.startswith("https:")
    site = _site(node.url, start.url) if caller else "none"
    if secure:
        yield "sec-ch-ua-platform", '"Linux"'
    yield "user-agent", _AGENT
    if secure:
        yield "sec-ch-ua", _BRANDS
        yield "sec-ch-ua-mobile", "?0"
    top = node.kind == "Document"
    if top:
        yield "upgrade-insecure-requests", "1"
    yield "accept", _ACCEPT.get(node.kind, "*/*")
    cors = node.kind in _CORS
    if caller and ((cors and site != "same-origin") or node.method not in ("GET", "HEAD")):
        yield "origin", _origin(start.url)
    if secure:
        yield "sec-fetch-site", site
        yield "sec-fetch-mode", "navigate" if top else "cors" if cors else "no-cors"
        yield "sec-fetch-dest", _destination(node, caller)
    if caller:
        yield "referer", _referer(node.url, caller.url)
    yield "accept-encoding", "gzip, deflate, br, zstd" if secure else "gzip, deflate"
    yield "accept-language", "en-US,en;q=0.9"


def _destination(node: Node, caller: Node | None) -> str:
    if node.kind == "Document" and caller:
        return "iframe"
    return _DESTINATION.get(node.kind, "empty")


def _referer(url: str, caller: str) -> str:
    """Return the Referer under strict-origin-when-cross-origin, the default of Referrer Policy."""
    return caller if _origin(url) == _origin(caller) else f"{_origin(caller)}/"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _site(url: str, other: str) -> str:
    """Return the value of sec-fetch-site. Hosts are the same site if their last two labels are
    equal; for a few hosts this would need a public suffix list."""
    if _origin(url) == _origin(other):
        return "same-origin"
    hosts = [(urlsplit(u).hostname or "").split(".")[-2:] for u in (url, other)]
    return "same-site" if hosts[0] == hosts[1] else "cross-site"
