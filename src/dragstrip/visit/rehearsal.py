"""What a page's rehearsal shows: a load without emulation that is thrown away."""

from collections.abc import Iterable

from msgspec import Struct

from dragstrip.browsers.load import Load
from dragstrip.model.page import Page
from dragstrip.model.visit import Served


class Rehearsal(Struct, frozen=True, kw_only=True):
    misses: frozenset[str]
    """Addresses (URL without query) that the recording lacks."""
    fetched: frozenset[int] | None
    """Places in the page's `resources` of what was asked for before the load event; None without
    one."""


def rehearsal(page: Page, loaded: Load, asked: Iterable[Served]) -> Rehearsal:
    """Of a load and what the origin saw of it."""
    every = list(asked)
    return Rehearsal(
        misses=frozenset(s.address for s in every if s.match == "miss"),
        fetched=_fetched(page, loaded, every) if loaded.outcome == "loaded" else None,
    )


def _fetched(page: Page, loaded: Load, asked: Iterable[Served]) -> frozenset[int]:
    loaded_us = loaded.time_origin_s * 1e6 + loaded.navigation.loadEventEnd * 1000
    places: dict[tuple[str, str], int] = {}
    for place, resource in enumerate(page.resources):
        places.setdefault((resource.method, resource.url), place)
    before = ((s.method, s.url) for s in asked if s.t_us < loaded_us)
    return frozenset(places[one] for one in before if one in places)
