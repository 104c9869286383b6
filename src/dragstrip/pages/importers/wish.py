"""What to take from a recording, where it leaves a choice."""

from msgspec import Struct

from dragstrip.model.done import AT_LOAD
from dragstrip.pages.importers.limits import DEFAULT, Limits


class Wish(Struct, frozen=True, kw_only=True):
    part: str = ""
    """One page of a recording with several: its number from 1, its id, its URL or its title; the
    first by default."""
    busy: bool = False
    """Made-up scripts keep the browser busy as long as the recorded ones seem to have."""
    keep_http: bool = False
    """Serve http:// as it is, by HTTP/1.1 without TLS, instead of as https://."""
    keep_secrets: bool = False
    """Keep cookies, credentials and tokens."""
    done: str = AT_LOAD
    """When the page counts as loaded."""
    think_ms: float | None = None
    """How long the server takes for the start of the page; None as recorded."""
    limits: Limits = DEFAULT
