"""Defines the content of a recording, in one form for all formats.

A reader is one function `(path, limits) -> Contents` that raises `PageError`.
`dragstrip.pages.importers.kinds` registers it; `dragstrip.pages.importers.choose` and `prepare`
make a page from what it returns.
"""

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from dragstrip.pages.format.recording import EPOCH, Recorded


class RecordedNavigation(Struct, frozen=True, kw_only=True):
    """A document that a visit may start at."""

    url: str
    """The URL as recorded. It may redirect."""
    title: str = ""
    id: str = ""
    """The navigation's id in the recording."""
    started: datetime = EPOCH
    exchanges: Sequence[int]
    """Indices in the recording of the exchanges that belong to the visit, ascending."""


class Contents(Struct, frozen=True, kw_only=True):
    source: str
    """Description of the source, such as ``a WARC recording``."""
    exchanges: Sequence[Recorded]
    """The exchanges in recorded order, with URLs and headers as recorded. Bodies may be on disk
    (`dragstrip.pages.format.spool`)."""
    navigations: tuple[RecordedNavigation, ...] = ()
    """Navigations in recorded order. If there are none, all exchanges are one visit, which starts
    at the first document."""
    by_name: bool = False
    """Whether names decide a visit's objects. If true, its page has all recorded objects to which
    its documents and style sheets refer. If false, it has the exchanges listed in `navigations`."""
    changes: tuple[str, ...] = ()
    """Sentences on what the reader had to change."""
