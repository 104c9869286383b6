"""The structure of a page without its bodies: which object asks for which, of what kind and
size.

A HAR without bodies and a stand-in of the corpus both come to this; `dragstrip.pages.made` makes a
page of it that a browser loads and paints.
"""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from dragstrip.pages.format.recording import EPOCH, Certificate, Headers

ResourceKind = Literal["document", "style", "script", "image", "font", "fetch"]
"""How the page makes the browser request it. A script fetches kinds that have no element."""


class Object(Struct, frozen=True, kw_only=True):
    """One request and the shape of its answer. Its place in the list is its identity."""

    url: str
    """The URL as the origin serves it, see `dragstrip.pages.format.urls.servable`."""
    kind: ResourceKind
    size: int
    """Bytes of the answer's body on the wire."""
    method: str = "GET"
    status: int = 200
    content_type: str = ""
    headers: Headers = ()
    """Further recorded headers that may be sent again."""
    parent: int | None = None
    """What must have arrived before this is asked for; None for where the visit starts."""
    initiator: int | None = None
    """The recorded cause; the parent or one of its ancestors."""
    inferred: bool = False
    """The recording did not name the initiator."""
    follows: int | None = None
    """The redirect that leads here; then the browser follows it without a request from the page."""
    location: str = ""
    """Where a redirect leads."""
    upload: int = 0
    """Bytes of the request's body."""
    preflighted: bool = False
    """Whether a CORS preflight precedes it."""
    blocking: bool = True
    """A script that the parser waits for, where the markup names it."""
    box: tuple[int, int] = (0, 0)
    """CSS pixels of an image or frame; (0, 0) leaves it to its size."""
    busy_ms: float = 0.0
    """How long a script keeps the browser busy."""
    started: datetime = EPOCH
    time_ms: float = 0.0
    think_ms: float | None = None
    """How long the server took to answer, round trip left out, if the recording says."""
    status_text: str = ""
    http_version: str = "HTTP/1.1"
    server_ip: str = ""
    certificate: Certificate | None = None


class Structure(Struct, frozen=True, kw_only=True):
    """The structure of a page to make. A parent or redirect comes before what it leads to."""

    name: str
    title: str
    source: str
    changes: tuple[str, ...] = ()
    objects: tuple[Object, ...]
    """The first one is where the visit starts."""
