"""Uses visits to correct the waits that a page's structure suggests.

A visit contradicts a wait if its request started before the wait was over. If a request starts
later than all its waits, it waits for something else. That is the request whose end it follows at
the steadiest distance over all visits, if the visits' networks and stacks differ enough to show it.
Otherwise the time becomes a delay of the request itself.
"""

from collections.abc import Sequence
from statistics import median

from msgspec import Struct

from dragstrip.model.graph import LOAD, RequestCause, Wait
from dragstrip.model.visit import Visit
from dragstrip.pages.graph.align import AlignedRequest

_SOON_MS = 3.0
"""Time in ms that messages between a browser's processes may take even if computing takes no time.
A request that starts this soon after its waits needs no other explanation. The value is our choice,
as are the next two."""
_EARLY_MS = 1.5
"""Time in ms: a request that starts more than this before the end of a wait did not wait for it.
The tolerance is needed because the two timestamps come from different processes."""
_STEADY = 0.35
"""Share to which an additional wait must reduce the spread and size of the unexplained time."""
_MOST_MORE = 3
"""Most additional waits of one request."""


class RequestWaits(Struct, frozen=True):
    waits: tuple[Wait, ...]
    delay_ms: float


class EventTimes:
    """Times of the events in each visit."""

    def __init__(self, rows: Sequence[AlignedRequest], visits: Sequence[Visit]) -> None:
        self._rows = rows
        self._load = [v.plt_ms or 0.0 for v in visits]
        self.dcl = [v.dcl_ms or 0.0 for v in visits]
        self.many = len(rows)

    def starts(self, index: int) -> list[float | None]:
        return [r.start_ms if r else None for r in self._rows[index].made]

    def of(self, wait: Wait) -> list[float | None]:
        """Return the earliest time in each visit at which the wait may have been over. For a part
        of a body this is the time of the body's first byte."""
        if wait.node == LOAD:
            return list(self._load)
        made = self._rows[wait.node].made
        if wait.bytes is not None:
            return [(r.response_start_ms or r.end_ms) if r else None for r in made]
        return [r.end_ms if r else None for r in made]

    def may_hold_load(self, index: int, *, optional: bool) -> bool:
        """Return whether the request had ended before the load event in every visit. If the request
        is `optional`, only visits in which it started before that event count."""
        both = zip(self._rows[index].made, self._load, strict=True)
        known = [(r.end_ms, at) for r, at in both if r and not (optional and r.start_ms > at)]
        return all(end is not None and end <= at + _EARLY_MS for end, at in known)

    def load_delay_ms(self, holders: Sequence[int]) -> float:
        found = []
        for visit, load in enumerate(self._load):
            made = [r for i in holders if (r := self._rows[i].made[visit]) and r.start_ms <= load]
            ends = [r.end_ms or 0.0 for r in made]
            found.append(max(load - max(ends, default=0.0), 0.0))
        return round(median(found), 3)


def held_back(
    times: EventTimes,
    index: int,
    waits: Sequence[Wait],
    moments: Sequence[Sequence[Wait]],
    found: RequestCause,
) -> RequestWaits:
    """Return the waits of a request that the visits confirm, and its delay. `moments` are other
    events that a script may wait for: DOMContentLoaded, the first layout. If the request starts
    before the load event in no visit, it waits for that event, whose handlers make requests before
    it ends."""
    if not index:
        return RequestWaits((), 0.0)
    candidates = [[Wait(LOAD)], *(list(m) for m in moments if all(w.node < index for w in m))]
    candidates += [[Wait(other)] for other in range(index)]
    starts = times.starts(index)
    if all(lag > -_EARLY_MS for lag in _lags(starts, [times.of(Wait(LOAD))])):
        after = (*waits, Wait(LOAD))  # which of them it was makes no difference to the load
        return RequestWaits(
            _merged(after), _rest(median(_lags(starts, [times.of(w) for w in after])))
        )
    return _explained(times, starts, waits, [] if found == "redirect" else candidates)


def finished_when(times: EventTimes, waits: Sequence[Wait]) -> tuple[Wait, ...]:
    """Return the waits for DOMContentLoaded, according to the visits. The markup does not show all
    of them, for example not the imports of modules."""
    dcl: list[float | None] = list(times.dcl)
    return _explained(times, dcl, waits, [[Wait(n)] for n in range(times.many)]).waits


def _explained(
    times: EventTimes,
    starts: Sequence[float | None],
    waits: Sequence[Wait],
    candidates: Sequence[Sequence[Wait]],
) -> RequestWaits:
    kept = [w for w in waits if not _contradicted(times.of(w), starts)]
    left = _lags(starts, [times.of(w) for w in kept])
    partly = any(w.bytes is not None for w in kept)
    if not left or max(left) <= _SOON_MS or (partly and not _after_all(times, kept, starts)):
        return RequestWaits(tuple(kept), 0.0)
    for _ in range(_MOST_MORE):
        better = _best(times, starts, kept, candidates, len(left))
        if better is None or _cost(better[1]) > _STEADY * _cost(left):
            break
        kept, left = better
    return RequestWaits(_merged(kept), _rest(median(left)))


def _rest(delay_ms: float) -> float:
    return round(delay_ms, 3) if delay_ms > _SOON_MS else 0.0


def _best(
    times: EventTimes,
    starts: Sequence[float | None],
    kept: Sequence[Wait],
    candidates: Sequence[Sequence[Wait]],
    visits: int,
) -> tuple[list[Wait], list[float]] | None:
    """Return the waits with one more, chosen so that the start follows it most steadily, and the
    remaining lags. None if no candidate fits."""
    best: tuple[list[Wait], list[float]] | None = None
    for more in candidates:
        both = [*kept, *more]
        lags = _lags(starts, [times.of(w) for w in both])
        if len(lags) < visits or min(lags) < -_EARLY_MS:
            continue
        if best is None or _cost(lags) < _cost(best[1]) - 1e-9:
            best = both, lags
    return best


def _contradicted(held: Sequence[float | None], starts: Sequence[float | None]) -> bool:
    both = [(h, s) for h, s in zip(held, starts, strict=True) if h is not None and s is not None]
    return any(h > s + _EARLY_MS for h, s in both)


def _lags(starts: Sequence[float | None], waits: Sequence[Sequence[float | None]]) -> list[float]:
    """Return the time in ms from the last of the waits to the start, in each visit that has
    both."""
    found = []
    for visit, start in enumerate(starts):
        held = [w[visit] for w in waits]
        known = [h for h in held if h is not None]
        if start is not None and known:
            found.append(start - max(known))
    return found


def _after_all(times: EventTimes, waits: Sequence[Wait], starts: Sequence[float | None]) -> bool:
    """Return whether the request started only after the end of each body of which it needs a part.
    Then the request waits for something else."""
    whole = [times.of(Wait(w.node)) for w in waits]
    return all(lag > _SOON_MS for lag in _lags(starts, whole))


def _cost(lags: Sequence[float]) -> float:
    """Return the cost of lags: their mean deviation from the median, which one busy moment barely
    affects. A small weight on the lags' size prefers the nearest of equal candidates."""
    middle = median(lags)
    return sum(abs(lag - middle) + 0.02 * abs(lag) for lag in lags) / len(lags)


def _merged(waits: Sequence[Wait]) -> tuple[Wait, ...]:
    whole = {w.node: w for w in waits if w.bytes is None}
    parts = {w.node: w for w in waits if w.bytes is not None and w.node not in whole}
    both = {**whole, **parts}
    return tuple(both[node] for node in sorted(both))
