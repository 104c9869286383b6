"""Matches the requests of several visits of a page."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Sequence
from statistics import median

from msgspec import Struct

from dragstrip.model.page import address
from dragstrip.model.visit import Request, Visit


class AlignedRequest(Struct, frozen=True):
    """One request as it occurred in each visit."""

    made: tuple[Request | None, ...]
    """The request in each visit; None where the visit did not make it."""

    @property
    def one(self) -> Request:
        return next(r for r in self.made if r)

    @property
    def start_ms(self) -> float:
        return median(r.start_ms for r in self.made if r)


def align(visits: Sequence[Visit]) -> list[AlignedRequest]:
    """Return the requests that more than half of the visits sent to the network, in order of start.
    Requests of two visits match if they have the same method, URL and number among equal requests.
    The remaining requests are matched by URL without the query."""
    left = [[r for r in v.requests if r.protocol and not r.from_cache] for v in visits]
    rows = _taken(left, lambda r: (r.method, r.url), len(visits))
    rows += _taken(left, lambda r: (r.method, address(r.url)), len(visits) // 2 + 1)
    aligned = [AlignedRequest(tuple(row.get(n) for n in range(len(visits)))) for row in rows]
    return sorted(aligned, key=lambda row: row.start_ms)


def _taken(
    left: list[list[Request]], key: Callable[[Request], Hashable], least: int
) -> list[dict[int, Request]]:
    """Remove from `left` the requests whose key occurs in at least `least` visits; return them by
    visit."""
    found: dict[Hashable, dict[int, Request]] = defaultdict(dict)
    for number, requests in enumerate(left):
        seen: Counter[Hashable] = Counter()
        for request in requests:
            mine = key(request)
            found[mine, seen[mine]][number] = request
            seen[mine] += 1
    rows = [row for row in found.values() if len(row) >= least]
    for number in range(len(left)):
        mine_too = {id(row[number]) for row in rows if number in row}
        left[number] = [r for r in left[number] if id(r) not in mine_too]
    return rows
