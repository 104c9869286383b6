"""Makes a graph without visits: from the recording's initiators, else from markup and style sheets,
else from the document."""

from bisect import bisect_right
from collections.abc import Sequence

from dragstrip.model.graph import Graph, Node, Wait
from dragstrip.model.page import Page, address
from dragstrip.pages.format.recording import HTML
from dragstrip.pages.format.urls import absolute
from dragstrip.pages.graph.bodies import Body
from dragstrip.pages.graph.credentials import by_rule
from dragstrip.pages.graph.discovery import Discoveries, PlacedRequest
from dragstrip.pages.graph.scene import Scene

_PRIORITIES = {
    "Document": "VeryHigh",
    "Stylesheet": "VeryHigh",
    "Font": "VeryHigh",
    "Script": "High",
    "Image": "Low",
    "Fetch": "High",
    "Media": "Low",
}
"""Chromium's priorities (https://web.dev/articles/fetch-priority). Scripts that do not block the
parser have Low."""


def from_structure(page: Page) -> Graph:
    """Return the graph that follows from the recording alone. It contains every recorded request;
    each redirect leads to its target."""
    scene = Scene(page)
    start = next(i for i, b in enumerate(scene.bodies) if b.resource.url == page.url)
    recorded = scene.bodies[start:]
    follows = _redirects(recorded)
    asked = _asked(recorded, scene, follows)
    ways = Discoveries(scene, asked)
    root = _root(follows, len(asked))
    known = by_rule(scene, asked)
    nodes = tuple(
        _node(i, recorded[i], asked[i], ways, follows, known[i]) for i in range(len(asked))
    )
    return Graph(
        nodes=nodes,
        learned=False,
        source="the recording's structure; no visit was looked at",
        parsed=ways.finished(root),
        body=ways.body(root),
    )


def _root(follows: dict[int, int], many: int) -> int:
    """Return the index of the request at which the start's redirects end; the start's own index if
    it does not redirect."""
    leading = {0}
    for index in range(1, many):
        if follows.get(index) in leading:
            leading.add(index)
    return max(leading)


def _redirects(recorded: Sequence[Body]) -> dict[int, int]:
    """Return the index of the redirect that leads to each body, by the body's index."""
    places: dict[str, list[int]] = {}
    for index, body in enumerate(recorded):
        places.setdefault(body.resource.url, []).append(index)
    redirects: dict[int, int] = {}
    for index, body in enumerate(recorded):
        if not (300 <= body.resource.status < 400 and body.location):
            continue
        later = places.get(absolute(body.resource.url, body.location), [])
        place = bisect_right(later, index)
        if place < len(later):
            redirects.setdefault(later[place], index)
    return redirects


def _asked(recorded: Sequence[Body], scene: Scene, follows: dict[int, int]) -> list[PlacedRequest]:
    kinds = [kind_of(b) for b in recorded]
    for later, before in sorted(follows.items(), reverse=True):
        kinds[before] = kinds[later]  # a redirect is requested like its target
    root = _root(follows, len(recorded))
    naming = _Naming(recorded, kinds, scene)
    named = {b.resource.url: i for i, b in reversed(list(enumerate(recorded)))}
    requests: list[PlacedRequest] = []
    for index, body in enumerate(recorded):
        initiator: int | None = None
        by_script = False
        if index and index not in follows:
            initiator = _initiator(index, body, named, naming, root)
            by_script = kinds[initiator] == "Script"
        requests.append(
            PlacedRequest(
                url=body.resource.url,
                kind=kinds[index],
                initiator=initiator,
                by_script=by_script,
            )
        )
    return requests


class _Naming:
    """Finds the first document or style sheet that refers to a URL. In documents the URL's address
    (without the query) suffices, because queries often change."""

    def __init__(self, recorded: Sequence[Body], kinds: Sequence[str], scene: Scene) -> None:
        self._exact: dict[str, int] = {}
        self._near: dict[str, int] = {}
        for index, (body, kind) in enumerate(zip(recorded, kinds, strict=True)):
            url = body.resource.url
            document = scene.document(url) if kind == "Document" else None
            for reference in document.markup.references if document else ():
                self._exact.setdefault(reference.url, index)
                self._near.setdefault(address(reference.url), index)
            for part in scene.sheet(url) if kind == "Stylesheet" else ():
                for named in part:
                    self._exact.setdefault(named, index)

    def before(self, index: int, url: str) -> int | None:
        found = (self._exact.get(url, index), self._near.get(address(url), index))
        return min(found) if min(found) < index else None


def _initiator(index: int, body: Body, named: dict[str, int], naming: _Naming, root: int) -> int:
    """Return the initiator of a request: the recorded one, else a document or style sheet that
    refers to it, else the importer's guess, else the document."""
    resource = body.resource
    said = named.get(resource.initiator)
    if said is not None and said < index and not resource.inferred:
        return max(said, root) if said <= root else said
    other = naming.before(index, resource.url)
    if other is not None:
        return other
    return said if said is not None and root <= said < index else min(root, index - 1)


def _node(
    index: int,
    body: Body,
    asked: PlacedRequest,
    ways: Discoveries,
    follows: dict[int, int],
    credentials: bool,
) -> Node:
    way = ways.way(index)
    waits, found = way.waits, way.found
    if index in follows:
        waits, found = (Wait(follows[index]),), "redirect"
    elif body.held:
        waits = ways.markup_ended(index)
    return Node(
        url=body.resource.url,
        method=body.resource.method,
        kind=asked.kind,
        priority=_priority(index, asked, ways),
        found=found,
        initiator=follows.get(index, asked.initiator),
        waits=tuple(w for w in waits if w.node < index),
        holds_load=body.held or asked.kind != "Fetch",
        upload_bytes=body.upload_bytes,
        credentials=credentials,
    )


def _priority(index: int, asked: PlacedRequest, ways: Discoveries) -> str:
    if asked.kind == "Script" and not ways.holds_parser(index):
        return "Low"
    return _PRIORITIES.get(asked.kind, "Low")


def kind_of(body: Body) -> str:
    """Return CDP's resource type, by media type."""
    mime = body.resource.mime
    major, _, minor = mime.partition("/")
    if body.resource.method != "GET":
        return "Fetch"
    if mime in HTML:
        return "Document"
    if major == "image":
        return "Image"
    if major in ("video", "audio"):
        return "Media"
    if major == "font" or "font" in minor:
        return "Font"
    if minor == "css":
        return "Stylesheet"
    return "Script" if "javascript" in minor or "ecmascript" in minor else "Fetch"
