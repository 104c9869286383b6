"""Chooses one navigation of a recording: ``FILE#2``."""

from collections.abc import Sequence

from msgspec import Struct

from dragstrip.pages.format.recording import PageError, Recorded, one_line
from dragstrip.pages.importers.borrow import borrowed
from dragstrip.pages.importers.contents import Contents, RecordedNavigation
from dragstrip.pages.importers.sentences import listed

_NAMED = 12


class ChosenVisit(Struct, frozen=True, kw_only=True):
    exchanges: Sequence[Recorded]
    start: str = ""
    """URL of the start as recorded; empty for the first document."""
    changes: tuple[str, ...] = ()


def choose(contents: Contents, wanted: str, file: str) -> ChosenVisit:
    """Return the exchanges of the navigation that `wanted` names, see `which`. Raises
    `PageError`."""
    if not contents.navigations:
        if wanted:
            raise PageError(f"there is no #{wanted}: the recording is of one page")
        return ChosenVisit(exchanges=contents.exchanges)
    number = which(contents.navigations, wanted)
    navigation = contents.navigations[number]
    shared = borrowed(contents.exchanges, navigation.exchanges)
    changes = list(others(contents.navigations, number, file))
    if contents.by_name:
        left = len(contents.exchanges) - len(navigation.exchanges) - len(shared)
        changes.append(f"{left} files left out, which no document or style sheet of the page names")
    else:
        changes += _strays(contents)
    if shared and not contents.by_name:
        changes.append(
            f"{len(shared)} objects that its documents and style sheets name were fetched by other "
            f"visits of the recording: {listed([x.url for x in shared])}"
        )
    return ChosenVisit(
        exchanges=[*(contents.exchanges[i] for i in navigation.exchanges), *shared],
        start=navigation.url,
        changes=tuple(changes),
    )


def _strays(contents: Contents) -> list[str]:
    taken = {i for one in contents.navigations for i in one.exchanges}
    strays = [x.url for i, x in enumerate(contents.exchanges) if i not in taken]
    if not strays:
        return []
    return [f"{len(strays)} exchanges left out, which no visit asked for: {listed(strays)}"]


def which(navigations: Sequence[RecordedNavigation], wanted: str) -> int:
    """Return the index of the navigation with this number (from 1), id, URL or title; the first one
    if `wanted` is empty.

    Raises `PageError`, which lists the navigations.
    """
    if not wanted:
        return 0
    for number, one in enumerate(navigations):
        if wanted in (str(number + 1), one.id, one.url, one.title):
            return number
    raise PageError(f"there is no page {one_line(wanted)!r}; it holds {_listed(navigations)}")


def others(navigations: Sequence[RecordedNavigation], number: int, file: str) -> tuple[str, ...]:
    """Return a sentence on how to choose another navigation, if there are several."""
    if len(navigations) < 2:
        return ()
    return (
        f"this is #{number + 1} of {len(navigations)} documents in the recording that a visit may "
        f"start at; {file}#{2 if number != 1 else 1} chooses another: {_listed(navigations)}",
    )


def _listed(navigations: Sequence[RecordedNavigation]) -> str:
    named = [
        f"#{n} {one_line(one.url)[:120]}" + (f" ({one.title[:60]})" if one.title else "")
        for n, one in enumerate(navigations[:_NAMED], start=1)
    ]
    more = len(navigations) - _NAMED
    return ", ".join(named) + (f" and {more} more" if more > 0 else "")
