"""Which request caused which: the recorder's answer, else inferred."""

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from dragstrip.pages.format.structure import ResourceKind


class Clues(Struct, frozen=True, kw_only=True):
    """What the recording says about one request, with URLs as served."""

    url: str
    kind: ResourceKind
    start_ms: float
    end_ms: float
    initiator: str
    referer: str
    follows: int | None


class Cause(Struct, frozen=True, kw_only=True):
    initiator: int | None
    """None for requests that the user caused: the start of the visit and what came before."""
    inferred: bool = False
    parent: int | None = None
    """The request that must arrive first: the initiator, or one that it caused and then waited
    for."""


_PROMPT_MS = 100.0
"""How long an initiator is still being parsed or run after its end, or after the first request it
caused; our choice."""


def causes(seen: Sequence[Clues], root: int) -> list[Cause]:
    """The cause of each request, by start; `root` is the document of the visit.

    What the recorder names is taken. Else, in this order: the frame or style sheet that the
    Referer names; for a font, the style sheet that ended last before it began; the document.

    A request that began long after its initiator had ended waited for something: for the
    script of the same document, caused by that initiator, that ended last before it began.
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
    """Requests by when they ended."""

    def __init__(self) -> None:
        self._sorted: list[tuple[float, int]] = []

    def add(self, end_ms: float, index: int) -> None:
        insort(self._sorted, (end_ms, -index))

    def before(self, moment_ms: float) -> Iterator[int]:
        """Requests that had ended, the last first; of several at once the first asked for."""
        for place in range(bisect_right(self._sorted, (moment_ms, 0)) - 1, -1, -1):
            yield -self._sorted[place][1]


def _initiator(
    seen: Sequence[Clues], root: int, by_url: dict[str, list[int]], index: int, styles: _Ended
) -> tuple[int | None, bool]:
    """Index of the initiator, and whether it is inferred."""
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
    """`first` is the first request that each initiator caused."""
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
    """Whether the request is the initiator, or goes back to it by what it waited for."""
    at: int | None = index
    while at is not None and at > initiator:
        parent = made[at].parent
        at = parent if parent is not None and parent < at else None
    return at == initiator


def _latest(found: Sequence[int], before: int) -> int | None:
    """The last of some ascending indices that is below `before`."""
    place = bisect_left(found, before)
    return found[place - 1] if place else None
