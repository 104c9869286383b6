"""Which request caused which: as the recorder says, else inferred."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

from msgspec import Struct

from dragstrip.pages.structure import Kind


class Seen(Struct, frozen=True, kw_only=True):
    """What there is to go by about one request, URLs as served."""

    url: str
    kind: Kind
    start_ms: float
    end_ms: float
    initiator: str
    referer: str
    follows: int | None


class Cause(Struct, frozen=True, kw_only=True):
    parent: int | None
    """None for requests that a person caused: where the visit starts and its redirects."""
    inferred: bool = False


_PARSING_MS = 50.0
"""A document is still being parsed so long after its last byte; our choice."""


def causes(seen: Sequence[Seen], root: int) -> list[Cause]:
    """The cause of each request, by start; `root` is the document of the visit.

    What the recorder names is taken. Else, in this order: the frame or style sheet that the
    Referer names; for a font, the style sheet that ended last before it began; the document, while
    it was being parsed; the script of that document that ended last before the request began.
    """
    by_url: dict[str, list[int]] = defaultdict(list)
    for index, request in enumerate(seen):
        by_url[request.url].append(index)
    return [_cause(seen, root, by_url, index) for index in range(len(seen))]


def _cause(
    seen: Sequence[Seen], root: int, by_url: dict[str, list[int]], index: int
) -> Cause:
    request = seen[index]
    if request.follows is not None:
        return Cause(parent=request.follows)
    if index <= root:
        return Cause(parent=None)
    named = _latest(by_url.get(request.initiator, ()), index)
    if named is not None:
        return Cause(parent=max(named, root))
    referer = _latest(by_url.get(request.referer, ()), index)
    base = root if referer is None else max(referer, root)
    if seen[base].kind == "style":
        return Cause(parent=base, inferred=True)
    if seen[base].kind != "document":
        base = root
    if request.kind == "font":
        styled = _last_ended(seen, index, base, "style")
        return Cause(parent=base if styled is None else styled, inferred=True)
    if request.start_ms <= seen[base].end_ms + _PARSING_MS:
        return Cause(parent=base, inferred=True)
    scripted = _last_ended(seen, index, base, "script")
    return Cause(parent=base if scripted is None else scripted, inferred=True)


def _latest(found: Sequence[int], before: int) -> int | None:
    """The last of some ascending indices that is below `before`."""
    place = bisect_left(found, before)
    return found[place - 1] if place else None


def _last_ended(seen: Sequence[Seen], index: int, base: int, kind: Kind) -> int | None:
    """Of the requests of a kind made after `base`, the one that ended last before this began.

    Its own Referer tells whether it belongs to the same document as far as one can know.
    """
    began = seen[index].start_ms
    ended = [
        i
        for i in range(base + 1, index)
        if seen[i].kind == kind
        and seen[i].end_ms <= began
        and seen[i].referer in ("", seen[base].url, seen[index].referer)
    ]
    return max(ended, key=lambda i: seen[i].end_ms, default=None)
