"""Options of an import, for choices that a recording leaves open."""

from msgspec import Struct

from dragstrip.model.done import AT_LOAD
from dragstrip.pages.importers.limits import DEFAULT, Limits


class Wish(Struct, frozen=True, kw_only=True):
    part: str = ""
    """The page to import from a recording with several: its number (from 1), id, URL or title.
    Empty means the first page."""
    busy: bool = False
    """Whether made-up scripts keep the browser busy as long as the recorded ones seem to have."""
    keep_http: bool = False
    """Whether to serve http:// URLs by HTTP/1.1 without TLS, instead of as https://."""
    keep_secrets: bool = False
    """Whether to keep cookies, credentials and tokens."""
    done: str = AT_LOAD
    """Condition for the page to count as loaded, see `dragstrip.model.done`."""
    think_ms: float | None = None
    """Time in ms that the server takes before it answers the start of the page; None keeps the
    recorded time."""
    limits: Limits = DEFAULT
