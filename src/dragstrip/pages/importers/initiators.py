"""Which request caused which: as the recorder says, else inferred."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence

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
    """What must arrive first: the initiator, or what it caused and then waited for."""


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
    made: list[Cause] = []
    for index in range(len(seen)):
        initiator, inferred = _initiator(seen, root, by_url, index)
        parent = _awaited(seen, made, index, initiator)
        made.append(Cause(initiator=initiator, inferred=inferred, parent=parent))
    return made


def _initiator(
    seen: Sequence[Clues], root: int, by_url: dict[str, list[int]], index: int
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
        styles = [i for i in range(base + 1, index) if seen[i].kind == "style"]
        base = _last_ended(seen, styles, request.start_ms, base)
    return base, True


def _awaited(
    seen: Sequence[Clues], made: Sequence[Cause], index: int, initiator: int | None
) -> int | None:
    request = seen[index]
    if initiator is None or request.follows is not None:
        return initiator
    first = next(
        (i for i, c in enumerate(made) if c.initiator == initiator and i > initiator), index
    )
    begun = max(seen[initiator].end_ms, seen[first].start_ms)
    if request.start_ms <= begun + _PROMPT_MS:
        return initiator
    below = {initiator}
    for later in range(initiator + 1, index):
        if made[later].parent in below:
            below.add(later)
    pages = ("", seen[initiator].url, request.referer)
    waits = sorted(i for i in below if seen[i].kind == "script" and seen[i].referer in pages)
    return _last_ended(seen, waits, request.start_ms, initiator)


def _latest(found: Sequence[int], before: int) -> int | None:
    """The last of some ascending indices that is below `before`."""
    place = bisect_left(found, before)
    return found[place - 1] if place else None


def _last_ended(seen: Sequence[Clues], among: Sequence[int], before_ms: float, other: int) -> int:
    """Of some requests the one that ended last before a time; `other` if none had."""
    ended = [i for i in among if seen[i].end_ms <= before_ms]
    return max(ended, key=lambda i: seen[i].end_ms, default=other)
