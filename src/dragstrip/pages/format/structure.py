"""The structure of a page without its bodies: its objects, their kinds and sizes, and which object
requests which.

HARs without bodies and the corpus's stand-ins are turned into a structure. From a structure,
`dragstrip.pages.made` makes a page that a browser loads and paints.
"""

from datetime import datetime
from typing import Literal

from msgspec import Struct

from dragstrip.pages.format.recording import EPOCH, Certificate, Headers

ResourceKind = Literal["document", "style", "script", "image", "font", "fetch"]
"""The kind of a request, which decides how the page makes the browser send it. Requests of kinds
without an element are sent by a script."""


class Object(Struct, frozen=True, kw_only=True):
    """One request and the shape of its answer. Other objects refer to an object by its index in the
    list."""

    url: str
    """The URL as the origin serves it, see `dragstrip.pages.format.urls.servable`."""
    kind: ResourceKind
    size: int
    """Bytes of the answer's body on the wire."""
    method: str = "GET"
    status: int = 200
    content_type: str = ""
    headers: Headers = ()
    """Other recorded headers that may be sent again."""
    parent: int | None = None
    """Index of the object that must have arrived before this one is requested; None for the object
    where the visit starts."""
    initiator: int | None = None
    """Index of the object that caused the request in the recording: the parent or one of its
    ancestors."""
    inferred: bool = False
    """Whether the recording did not name the initiator."""
    follows: int | None = None
    """Index of the redirect that leads to this object. Then the browser requests the object without
    the page."""
    location: str = ""
    """URL that a redirect leads to; empty for other answers."""
    upload: int = 0
    """Bytes of the request's body."""
    preflighted: bool = False
    """Whether a CORS preflight precedes the request."""
    blocking: bool = True
    """Whether the parser waits for a script in the markup."""
    box: tuple[int, int] = (0, 0)
    """Width and height of an image or frame in CSS pixels; with (0, 0), its bytes decide them."""
    busy_ms: float = 0.0
    """Time in ms that a script keeps the browser busy."""
    wait_ms: float = 0.0
    """Time in ms that a script then waits, without computing, before it requests others. The load
    event waits as well."""
    started: datetime = EPOCH
    time_ms: float = 0.0
    think_ms: float | None = None
    """Time in ms that the server took to answer, without the round trip; None if not recorded."""
    status_text: str = ""
    http_version: str = "HTTP/1.1"
    server_ip: str = ""
    certificate: Certificate | None = None


class Structure(Struct, frozen=True, kw_only=True):
    """The structure of a page to make. A parent or redirect precedes the objects that it leads
    to."""

    name: str
    title: str
    source: str
    changes: tuple[str, ...] = ()
    objects: tuple[Object, ...]
    """All objects. A visit starts with the first."""
    pictures_first: bool = False
    """Whether pictures that scripts request stand above the text; otherwise below."""
