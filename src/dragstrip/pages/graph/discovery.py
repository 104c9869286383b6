"""Derives a request's waits from how the browser discovers it.

HTML's parser and Blink's preload scanner find a reference when its bytes arrive. A script runs when
it has arrived, the parser has reached it, and the scripts and style sheets before it have arrived
(HTML, section 4.12.1). A style sheet's pictures and fonts are requested when the page is laid out.
That is when the style sheets that block rendering have arrived and the body has begun.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from dragstrip.model.graph import RequestCause, Wait
from dragstrip.pages.graph.scene import Document, Scene

_PARSER_FOUND = ("frame",)
"""Elements that the preload scanner leaves to the parser."""


class PlacedRequest(Struct, frozen=True, kw_only=True):
    """The properties of a request that determine its place in the graph."""

    url: str
    kind: str
    initiator: int | None = None
    by_script: bool = False
    """Whether a script made the request. The script may be inline in the initiator's markup."""
    bytes_seen: int | None = None
    """Bytes of the initiator's body, without content encoding, that had arrived when the request
    was made; the smallest number of all visits."""


class Discovery(Struct, frozen=True):
    found: RequestCause
    waits: tuple[Wait, ...]


class Discoveries:
    """Places requests in the scene, in the order in which they were made."""

    def __init__(self, scene: Scene, asked: Sequence[PlacedRequest]) -> None:
        self._scene = scene
        self._asked = asked
        self._index: dict[str, int] = {}
        for index, one in enumerate(asked):
            self._index.setdefault(one.url, index)
        self._owner = owners(asked)
        self._painted: dict[int, tuple[Wait, ...]] = {}
        self._imports: dict[int, list[int]] = {}
        for index, one in enumerate(asked):
            by = one.initiator
            if one.kind == "Stylesheet" and by is not None and asked[by].kind == "Stylesheet":
                self._imports.setdefault(by, []).append(index)

    def way(self, index: int) -> Discovery:
        one, by = self._asked[index], self._asked[index].initiator
        if by is None:
            return Discovery("start", ())
        document = self._document(by)
        if document is None:
            sheet = self._asked[by].kind == "Stylesheet"
            return self._by_sheet(one, by) if sheet else Discovery("script", self.runs(by))
        found = document.finds(one.url)
        if found and (not one.by_script or found.way != "image"):
            if found.way == "lazy":
                return Discovery(
                    "markup", _all((document.arrived(by, found.at), *self.painted(by)))
                )
            if found.way in _PARSER_FOUND:
                return Discovery("markup", self.reached(by, found.at))
            return Discovery("markup", (document.arrived(by, found.at),))
        inside = document.script_with(one.url)
        if inside is not None:
            return Discovery("script", self.reached(by, inside))
        if one.bytes_seen is None:
            return Discovery("script", self.finished(by))
        at = one.bytes_seen
        if one.by_script:
            return Discovery("script", self.reached(by, at))
        return (
            Discovery("style", self.painted(by))
            if one.kind == "Font"
            else Discovery("markup", (document.arrived(by, at),))
        )

    def holds_parser(self, script: int) -> bool:
        """Return whether the parser waits for this script where the markup names it."""
        by = self._asked[script].initiator
        document = None if by is None else self._document(by)
        found = document.finds(self._asked[script].url) if document else None
        return found is not None and found.way == "script"

    def runs(self, script: int) -> tuple[Wait, ...]:
        """Return the `Wait`s that must end before a script runs. `script` is the index of its
        request."""
        owner = self._owner[script]
        document = None if owner is None else self._document(owner)
        found = document.finds(self._asked[script].url) if document else None
        if owner is None or document is None or found is None:
            return (Wait(script),)
        if found.way == "script":
            return _all((*self.reached(owner, found.at), Wait(script)))
        if found.way == "defer":
            earlier = [
                r.url for r in document.markup.references if r.way == "defer" and r.at < found.at
            ]
            return _all((*self.parsed(owner), *self._here(earlier), Wait(script)))
        return (Wait(script),)

    def reached(self, owner: int, at: int) -> tuple[Wait, ...]:
        """Return the waits until the parser passes byte `at` of a document."""
        document = self._document(owner)
        if document is None:
            return (Wait(owner),)
        before = [r.url for r in document.markup.blocking(at)]
        return _all((document.arrived(owner, at), *self._here(before)))

    def parsed(self, owner: int) -> tuple[Wait, ...]:
        """Return the waits until a document is parsed."""
        document = self._document(owner)
        return self.reached(owner, document.markup.length) if document else (Wait(owner),)

    def finished(self, owner: int) -> tuple[Wait, ...]:
        """Return the waits until a document is parsed and its deferred scripts have run:
        DOMContentLoaded."""
        document = self._document(owner)
        later = [r.url for r in document.markup.references if r.way == "defer"] if document else []
        return _all((*self.parsed(owner), *self._here(later)))

    def markup_ended(self, index: int) -> tuple[Wait, ...]:
        """Return the waits until the document and all objects before `index` that its markup names
        have ended."""
        owner = self._owner[index]
        document = None if owner is None else self._document(owner)
        if owner is None or document is None:
            return (Wait(index - 1),)
        named = [r.url for r in document.markup.references]
        before = [w for w in self._here(named) if w.node < index]
        return _all((Wait(owner), *before))

    def body(self, owner: int) -> tuple[Wait, ...]:
        """Return the waits until the parser reaches the body."""
        document = self._document(owner)
        return self.reached(owner, document.markup.body) if document else (Wait(owner),)

    def painted(self, owner: int) -> tuple[Wait, ...]:
        """Return the waits until a document can first be laid out."""
        if owner not in self._painted:
            self._painted[owner] = self._first_painted(owner)
        return self._painted[owner]

    def _first_painted(self, owner: int) -> tuple[Wait, ...]:
        document = self._document(owner)
        if document is None:
            return (Wait(owner),)
        head = document.markup.body
        sheets = [
            r.url
            for r in document.markup.references
            if r.way in ("style", "import") and r.at <= head
        ]
        return _all((*self.body(owner), *self._here(sheets)))

    def _by_sheet(self, one: PlacedRequest, sheet: int) -> Discovery:
        imported, _ = self._scene.sheet(self._asked[sheet].url)
        if one.url in imported or one.kind == "Stylesheet":
            return Discovery("style", (Wait(sheet),))
        owner = self._owner[sheet]
        painted = () if owner is None else self.painted(owner)
        return Discovery("style", _all((*painted, Wait(sheet))))

    def _here(self, urls: Iterable[str]) -> list[Wait]:
        """Return the waits for these URLs. A style sheet has arrived once its imports have, too."""
        left = [self._index[url] for url in urls if url in self._index]
        waits: list[Wait] = []
        while left:
            at = left.pop(0)
            waits.append(Wait(at))
            left += self._imports.get(at, ())
        return waits

    def _document(self, index: int) -> Document | None:
        one = self._asked[index]
        return self._scene.document(one.url) if one.kind == "Document" else None


def owners(asked: Sequence[PlacedRequest]) -> list[int | None]:
    """Return the index of the document that each request belongs to."""
    owner_of: list[int | None] = []
    for index, one in enumerate(asked):
        by = one.initiator
        if by is None or asked[by].kind == "Document":
            owner_of.append(by)
        else:
            owner_of.append(owner_of[by] if by < index else _owner_of(asked, index))
    return owner_of


def _owner_of(asked: Sequence[PlacedRequest], index: int) -> int | None:
    seen: set[int] = set()
    at: int | None = index
    while at is not None and at not in seen:
        seen.add(at)
        if at != index and asked[at].kind == "Document":
            return at
        at = asked[at].initiator
    return None


def _all(waits: Iterable[Wait]) -> tuple[Wait, ...]:
    """Return the waits with each node only once: the wait for its furthest byte."""
    most: dict[int, Wait] = {}
    for wait in waits:
        known = most.get(wait.node)
        if known is None or wait.bytes is None or (known.bytes or 0) < wait.bytes:
            most[wait.node] = wait if known is None or known.bytes is not None else known
    return tuple(most[node] for node in sorted(most))
