"""Reads the documents and style sheets of a page as a browser does: where each URL occurs, and what
must arrive before it."""

from collections.abc import Sequence
from functools import cached_property

from dragstrip.model.graph import Wait
from dragstrip.model.page import Page, address
from dragstrip.pages.format.recording import HTML
from dragstrip.pages.format.urls import absolute
from dragstrip.pages.graph.bodies import Body, bodies
from dragstrip.pages.graph.markup import Markup, Reference, read_markup
from dragstrip.pages.graph.offsets import on_wire
from dragstrip.pages.graph.sheets import imports, references


class Document:
    """A recorded document with its markup and its byte offsets on the wire."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self.url = body.resource.url

    @cached_property
    def markup(self) -> Markup:
        return read_markup(self._body.decoded, self.url)

    @cached_property
    def _wire(self) -> dict[int, int]:
        markup = self.markup
        places = {r.at for r in markup.references} | {i.end for i in markup.inline} | {markup.body}
        known = sorted(places)
        return dict(zip(known, self.wire_bytes(known), strict=True))

    def wire_bytes(self, offsets: Sequence[int]) -> list[int]:
        return on_wire(self._body.wire, self._body.coding, offsets)

    def arrived(self, node: int, at: int) -> Wait:
        """Return the wait until byte `at` of the document's text has arrived; `node` is the
        document's node."""
        if at >= self.markup.length:
            return Wait(node)
        wire = self._wire[at] if at in self._wire else self.wire_bytes([at])[0]
        return Wait(node, wire if wire < len(self._body.wire) else None)

    def finds(self, url: str) -> Reference | None:
        """Return the first reference in the markup to this URL, or else to its address (without the
        query), because queries often change."""
        return self._exact.get(url) or self._near.get(address(url))

    @cached_property
    def _exact(self) -> dict[str, Reference]:
        return {r.url: r for r in reversed(self.markup.references)}

    @cached_property
    def _near(self) -> dict[str, Reference]:
        return {address(r.url): r for r in reversed(self.markup.references)}

    def script_with(self, url: str) -> int | None:
        """Return the byte offset of the end of the first inline script that contains the URL's
        path; None if no script does."""
        path = address(url).partition("://")[2].partition("/")[2]
        needle = path.rpartition("/")[2] or path
        if len(needle) < 4:
            return None
        text = self._body.decoded
        for script in self.markup.inline:
            if text.find(needle.encode(), script.start, script.end) >= 0:
                return script.end
        return None


class Scene:
    """A page's structure from its recording, by URL."""

    def __init__(self, page: Page) -> None:
        self.bodies = tuple(bodies(page))
        self._by_url: dict[str, Body] = {}
        self._by_address: dict[str, Body] = {}
        for body in self.bodies:
            self._by_url.setdefault(body.resource.url, body)
            self._by_address.setdefault(body.resource.address, body)
        self._documents: dict[str, Document] = {}
        self._sheets: dict[str, tuple[frozenset[str], frozenset[str]]] = {}

    def body(self, url: str) -> Body | None:
        """Return the recorded body that the origin serves for this URL: the URL's own, else that of
        the nearest query."""
        return self._by_url.get(url) or self._by_address.get(address(url))

    def document(self, url: str) -> Document | None:
        """Return the document at this URL; None if none was recorded there."""
        body = self.body(url)
        if not body or body.resource.mime not in HTML or not body.decoded:
            return None
        found = self._documents.get(body.resource.url)
        if not found:
            found = self._documents[body.resource.url] = Document(body)
        return found

    def sheet(self, url: str) -> tuple[frozenset[str], frozenset[str]]:
        """Return the absolute URLs that a style sheet imports, and those of its other
        references."""
        body = self.body(url)
        if not body or body.resource.mime != "text/css":
            return frozenset(), frozenset()
        base = body.resource.url
        if base not in self._sheets:
            text = body.decoded.decode("utf-8", "replace")
            made = (_joined(base, imports(text)), _joined(base, references(text)))
            self._sheets[base] = made
        return self._sheets[base]


def _joined(base: str, urls: Sequence[str]) -> frozenset[str]:
    return frozenset(found for url in urls if (found := absolute(base, url)))
