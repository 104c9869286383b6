"""The result of a page's rehearsal: a load without emulation that does not count."""

from collections.abc import Iterable

from msgspec import Struct

from dragstrip.browsers.exchanges import ABORTED
from dragstrip.browsers.load import Load
from dragstrip.model.done import parse_done
from dragstrip.model.page import Page, address
from dragstrip.model.visit import Served


class Rehearsal(Struct, frozen=True, kw_only=True):
    misses: frozenset[str]
    """Addresses (URLs without query) that the recording lacks."""
    aborted: frozenset[str]
    """Addresses of the requests that the page itself cancelled."""
    fetched: frozenset[int] | None
    """Indices in the page's `resources` of the requests made before the page counted as loaded.
    None if the page never counted as loaded, or if its `done` condition does not imply that it is
    complete."""


def rehearsal(page: Page, loaded: Load, asked: Iterable[Served]) -> Rehearsal:
    """Return the rehearsal's result, from the load and from the origin's log of its requests."""
    every = list(asked)
    recorded = {(r.method, r.url) for r in page.resources}
    return Rehearsal(
        misses=frozenset(
            s.address
            for s in every
            if s.match == "miss" or (s.match == "own" and (s.method, s.url) not in recorded)
        ),
        aborted=frozenset(
            address(e.request.url) for e in loaded.exchanges if e.request.error == ABORTED
        ),
        fetched=_fetched(page, loaded.done_ms, loaded.time_origin_s, every)
        if loaded.done_ms is not None and parse_done(page.done).whole
        else None,
    )


def _fetched(
    page: Page, done_ms: float, origin_s: float, asked: Iterable[Served]
) -> frozenset[int]:
    loaded_us = origin_s * 1e6 + done_ms * 1000
    places: dict[tuple[str, str], int] = {}
    for place, resource in enumerate(page.resources):
        places.setdefault((resource.method, resource.url), place)
    before = ((s.method, s.url) for s in asked if s.t_us < loaded_us)
    return frozenset(places[one] for one in before if one in places)
