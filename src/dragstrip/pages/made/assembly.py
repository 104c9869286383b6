"""Makes a recording from a structure. The recording's bodies request each other in the structure's
order."""

from collections import Counter

from dragstrip.pages.format.recording import PageError, Recorded, Recording, replaying
from dragstrip.pages.format.structure import Object, ResourceKind, Structure
from dragstrip.pages.made import markup, padded_files
from dragstrip.pages.made.markup import MarkupNode
from dragstrip.pages.made.text import CODE, HTML, fill, noise

_CODES = {"style": "c", "script": "s", "image": "i", "font": "f", "document": "d", "fetch": "x"}
_FRAME = (300, 250)
_TYPES = {
    "document": ("text/html", "html"),
    "style": ("text/css", "text/css"),
    "script": ("text/javascript", "javascript"),
    "image": ("image/gif", "image/"),
    "font": ("font/woff2", "font"),
}
"""Content type that browsers expect, and a part that a recorded type must contain to be kept, by
kind."""


def make(structure: Structure) -> Recording:
    """Make the page. Raises `PageError` if it does not start with a document."""
    maker = _Maker(structure)
    answers = maker.answers()
    return Recording(
        name=structure.name,
        url=structure.objects[0].url,
        source=structure.source,
        changes=(*structure.changes, *maker.changes),
        answers=answers,
    )


class _Maker:
    """Makes objects from the last to the first. An object's body depends on the objects that it
    requests, and on those that other objects must request for it."""

    def __init__(self, structure: Structure) -> None:
        self._title = structure.title
        self._objects = structure.objects
        self._pictures_first = structure.pictures_first
        self.changes = [
            "every body is made up: hosts, types, sizes on the wire and the order of discovery are "
            "the structure's, the content is not"
        ]
        count = len(self._objects)
        self._asked_before = _repeats(self._objects)
        times = Counter(o.url for o in self._objects)
        self._once = [times[o.url] == 1 for o in self._objects]
        self._heads = list(range(count))
        self._root = 0
        for index, item in enumerate(self._objects):
            if item.follows is not None:
                self._heads[index] = self._heads[item.follows]
                if self._heads[index] == 0:
                    self._root = index
        self._last = {head: index for index, head in enumerate(self._heads)}
        if not count or self._objects[self._root].kind != "document":
            raise PageError("the page does not start with a document; record it again")
        self._children: list[list[int]] = [[] for _ in self._objects]
        for index, item in enumerate(self._objects):
            if index and item.follows is None:
                self._children[self._above(item)].append(index)
        self._behalf: list[list[MarkupNode]] = [[] for _ in self._objects]
        """Requests that an ancestor makes for each object once the object has arrived, because the
        object's body cannot make them."""
        self._fonts: list[list[int]] = [[] for _ in self._objects]
        self._boxes: list[list[int]] = [[] for _ in self._objects]
        """Style sheets with pictures for which each document needs a box."""

    def answers(self) -> tuple[Recorded, ...]:
        bodies = {index: self._body(index) for index in reversed(range(len(self._objects)))}
        return tuple(self._answer(item, *bodies[i]) for i, item in enumerate(self._objects))

    def _above(self, item: Object) -> int:
        """Return the index of the parent. For objects without a parent, and for those whose parent
        precedes the document, it is the document."""
        return self._root if item.parent is None else max(item.parent, self._root)

    def _answer(self, item: Object, wire: bytes, coding: str) -> Recorded:
        own = [("access-control-allow-origin", "*"), ("timing-allow-origin", "*")]
        if item.size or item.content_type:
            own.append(("content-type", _content_type(item)))
        if coding:
            own.append(("content-encoding", coding))
        if item.location:
            own.append(("location", item.location))
        return Recorded(
            url=item.url,
            method=item.method,
            status=item.status,
            status_text=item.status_text,
            http_version=item.http_version,
            headers=replaying((*item.headers, *own)),
            upload_bytes=item.upload,
            wire=wire,
            started=item.started,
            time_ms=item.time_ms,
            think_ms=item.think_ms,
            initiator="" if item.initiator is None else self._objects[item.initiator].url,
            inferred=item.inferred,
            server_ip=item.server_ip,
            certificate=item.certificate,
        )

    def _body(self, index: int) -> tuple[bytes, str]:
        """Return the body as sent over the wire, and its coding."""
        item = self._objects[index]
        if item.kind == "font" and self._once[index]:
            self._fonts[index].append(index)
        if index == self._root:
            return self._start(index)
        made = self._asking(index) if item.status == 200 and self._once[index] else None
        if made and len(made[0]) <= item.size:
            if item.kind != "document":
                self._hand_up(index)
            return made
        self._behalf[self._heads[index]] += [self._node(c) for c in self._children[index]]
        self._hand_up(index)
        return _plain(item, f"{index}:{item.url}"), ""

    def _hand_up(self, index: int) -> None:
        above = self._above(self._objects[self._heads[index]])
        self._fonts[above] += self._fonts[index]
        self._boxes[above] += self._boxes[index]

    def _asking(self, index: int) -> tuple[bytes, str] | None:
        """Return a body that requests its children itself, and the body's coding; None if this kind
        of object cannot make requests."""
        item, children = self._objects[index], self._children[index]
        seed = f"{index}:{item.url}"
        if item.kind == "script" and (children or item.busy_ms):
            nodes = [self._node(c) for c in children]
            text = markup.script(nodes, item.busy_ms, item.wait_ms)
            return fill([text], item.size, CODE, seed)
        if item.kind == "document" and children:
            nodes = [self._node(c) for c in children]
            text = markup.frame(self._title, nodes, self._fonts[index], self._boxes[index])
            return fill([text], item.size, HTML, seed)
        if item.kind == "style" and children and all(map(self._in_style, children)):
            images = [c for c in children if self._objects[c].kind == "image"]
            fonts = [(c, self._objects[c].url) for c in children if c not in images]
            text = markup.style(index, [self._objects[c].url for c in images], fonts)
            made = fill([text], item.size, CODE, seed)
            if images and len(made[0]) <= item.size:
                self._boxes[index].append(index)
            return made
        return None

    def _in_style(self, child: int) -> bool:
        item = self._objects[child]
        simple = not self._behalf[child] and item.method == "GET"
        return simple and self._once[child] and item.kind in ("image", "font")

    def _start(self, index: int) -> tuple[bytes, str]:
        item = self._objects[index]
        items, place = [], "head"
        for child in self._children[index]:
            node = self._node(child)
            if node[0] in ("i", "d"):
                place = "body"
            items.append((place, node))
        pieces = markup.document(
            self._title,
            items,
            self._fonts[index],
            self._boxes[index],
            pictures_first=self._pictures_first,
        )
        wire, coding = fill(pieces, item.size, HTML, item.url)
        if len(wire) > item.size:
            self.changes.append(
                f"{item.url} is {len(wire)} bytes long and not {item.size}, to name all it asks for"
            )
        return wire, coding

    def _node(self, index: int) -> MarkupNode:
        """Return the markup that requests an object and, on its behalf, its children."""
        item = self._objects[index]
        kind = item.kind
        if index in self._asked_before or item.method != "GET":
            kind = "fetch"
        detail: object = index
        if kind == "fetch":
            detail = [item.method, item.upload, {"x-asked": "1"} if item.preflighted else {}]
        elif kind == "script":
            detail = 0 if item.blocking else 1
        elif kind == "image":
            detail = self._box(index)
        elif kind == "document":
            detail = item.box if any(item.box) else _FRAME if item.size > 999 else (1, 1)
        behalf = self._behalf[index]
        return [_CODES[kind], item.url, detail, *([behalf] if behalf else [])]

    def _box(self, index: int) -> tuple[int, int]:
        """Return the width and height of the picture at the end of the redirects."""
        item = self._objects[self._last.get(index, index)]
        return item.box if any(item.box) else padded_files.box(_mime(item), item.size)


def _repeats(objects: tuple[Object, ...]) -> frozenset[int]:
    """Return the indices of requests for objects that were requested before. A cache would answer
    if an element requested them again."""
    first: dict[str, int] = {}
    return frozenset(i for i, o in enumerate(objects) if first.setdefault(o.url, i) != i)


def _plain(item: Object, seed: str) -> bytes:
    """Return a body that makes no request."""
    if item.status != 200 or not item.size:
        return noise(item.size, seed)
    if item.kind == "image":
        mime = _mime(item)
        shape = item.box if any(item.box) else padded_files.box(mime, item.size)
        return padded_files.picture(mime, item.size, shape, seed)
    if item.kind == "font":
        return padded_files.font(item.size)
    comment = {"document": HTML, "script": CODE, "style": CODE}.get(item.kind)
    if comment:
        return fill([""], item.size, comment, seed)[0]
    if _mime(item).endswith("json") and item.size >= 2:
        return b'"' + noise(item.size - 2, seed) + b'"'
    return noise(item.size, seed)


def filler(kind: ResourceKind, content_type: str, size: int, seed: str) -> bytes:
    """Return a body of this kind and length, for an answer without a recorded body."""
    return _plain(Object(url="", kind=kind, size=size, content_type=content_type), seed)


def _content_type(item: Object) -> str:
    """Return the recorded type, or one that browsers accept for an object of this kind."""
    wanted, will_do = _TYPES.get(item.kind, ("application/octet-stream", ""))
    return item.content_type if item.content_type and will_do in item.content_type else wanted


def _mime(item: Object) -> str:
    return _content_type(item).partition(";")[0].strip().lower()
