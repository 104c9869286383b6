"""Finds which request caused which: as recorded, or else inferred."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dragstrip.pages.format.structure import ResourceKind


class Clues(Struct, frozen=True, kw_only=True):
    """The recorded signs of what caused a request, with URLs as served."""

    url: str
    kind: ResourceKind
    start_ms: float
    end_ms: float
    initiator: str
    referer: str
    follows: int | None


class Cause(Struct, frozen=True, kw_only=True):
    initiator: int | None
    """Index of the request that caused this one. None for requests that the user caused: the start
    of the visit, and all requests before it."""
    inferred: bool = False
    parent: int | None = None
    """Index of the request that must arrive first: the initiator, or a script that it caused and
    that this request waited for."""


_PROMPT_MS = 100.0
"""Time in ms that an initiator may still be parsed or run after its end, or after the first request
that it caused. The value is our choice."""


def causes(seen: Sequence[Clues], root: int) -> list[Cause]:
    """Return the cause of each request, in order of start; `root` is the document of the visit.

    The initiator is the request that the recorder names. Otherwise it is the frame or style sheet
    that the Referer names; for a font, the style sheet that ended last before the font's request;
    or else the document.

    A request that began long after its initiator had ended must have waited for a script. The
    parent is then the script of the same document that the initiator caused and that ended last
    before the request.
    """
    by_url: dict[str, list[int]] = defaultdict(list)
    for index, request in enumerate(seen):
        by_url[request.url].append(index)
    styles, scripts = _Ended(), _Ended()
    first: dict[int, int] = {}
    made: list[Cause] = []
    for index, request in enumerate(seen):
        initiator, inferred = _initiator(seen, root, by_url, index, styles)
        if initiator is not None and index > initiator:
            first.setdefault(initiator, index)
        parent = _awaited(seen, made, index, initiator, first, scripts)
        made.append(Cause(initiator=initiator, inferred=inferred, parent=parent))
        if request.kind == "style":
            styles.add(request.end_ms, index)
        elif request.kind == "script":
            scripts.add(request.end_ms, index)
    return made


class _Ended:
    """Requests in the order of their ends."""

    def __init__(self) -> None:
        self._sorted: list[tuple[float, int]] = []

    def add(self, end_ms: float, index: int) -> None:
        insort(self._sorted, (end_ms, -index))

    def before(self, moment_ms: float) -> Iterator[int]:
        """Yield requests that had ended before this moment, latest first. Of several that ended at
        once, the first requested comes first."""
        for place in range(bisect_right(self._sorted, (moment_ms, 0)) - 1, -1, -1):
            yield -self._sorted[place][1]


def _initiator(
    seen: Sequence[Clues], root: int, by_url: dict[str, list[int]], index: int, styles: _Ended
) -> tuple[int | None, bool]:
    """Return the index of the initiator, and whether it is inferred."""
    request = seen[index]
    if request.follows is not None:
        return request.follows, False
    if index <= root:
        return None, False
    named = _latest(by_url.get(request.initiator, ()), index)
    if named is not None:
        return max(named, root), False
    referer = _latest(by_url.get(request.referer, ()), index)
    base = root if referer is None else max(referer, root)
    if seen[base].kind not in ("style", "document"):
        base = root
    if request.kind == "font" and seen[base].kind == "document":
        base = next((i for i in styles.before(request.start_ms) if i > base), base)
    return base, True


def _awaited(
    seen: Sequence[Clues],
    made: Sequence[Cause],
    index: int,
    initiator: int | None,
    first: Mapping[int, int],
    scripts: _Ended,
) -> int | None:
    """Return the request that this one waited for: its initiator or a script. `first` maps each
    initiator to the first request that it caused."""
    request = seen[index]
    if initiator is None or request.follows is not None:
        return initiator
    begun = max(seen[initiator].end_ms, seen[first.get(initiator, index)].start_ms)
    if request.start_ms <= begun + _PROMPT_MS:
        return initiator
    pages = ("", seen[initiator].url, request.referer)
    for script in scripts.before(request.start_ms):
        if seen[script].referer in pages and _follows(made, script, initiator):
            return script
    return initiator


def _follows(made: Sequence[Cause], index: int, initiator: int) -> bool:
    """Return whether the request is the initiator, or whether its chain of parents leads to the
    initiator."""
    at: int | None = index
    while at is not None and at > initiator:
        parent = made[at].parent
        at = parent if parent is not None and parent < at else None
    return at == initiator


def _latest(found: Sequence[int], before: int) -> int | None:
    """Return the largest of these ascending indices that is below `before`; None if there is
    none."""
    place = bisect_left(found, before)
    return found[place - 1] if place else None
