"""What every importer and generator returns: a page as recorded answers with bodies.

A sibling importer is one function `path -> Recording`; `dragstrip.pages.format.archive` writes it.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property

from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip.model.page import Failure
from dragstrip.pages.format.coding import decode

Headers = tuple[tuple[str, str], ...]

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
"""When generated pages were "recorded": a constant, so that their bytes never change."""

_CONNECTION_HEADERS = frozenset(
    "transfer-encoding connection keep-alive upgrade alt-svc strict-transport-security "
    "content-length".split()
)
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
REDIRECTS = frozenset({301, 302, 303, 307, 308})


class PageError(InputError):
    """A page is not available; the text names the file, the place in it and what to do."""


class Recorded(Struct, frozen=True, kw_only=True, dict=True):
    """One request and what answered it."""

    url: str
    method: str = "GET"
    status: int = 200
    status_text: str = ""
    http_version: str = "HTTP/1.1"
    headers: Headers = ()
    request_headers: Headers = ()
    wire: bytes = b""
    """The body as it crossed the wire: de-chunked, content encoding kept."""
    started: datetime = EPOCH
    time_ms: float = 0.0
    """How long the exchange took; 0 where the recording does not say."""
    initiator: str = ""
    """URL of the resource that caused the request, if the recorder named one."""
    inferred: bool = False
    """The initiator is the importer's guess, because the recorder named none."""
    think_ms: float | None = None
    """How long the server took to answer, round trip left out, if the recording says."""

    @property
    def coding(self) -> str:
        return header(self.headers, "content-encoding").strip().lower()

    @property
    def mime(self) -> str:
        """Media type without parameters; empty if the answer had none."""
        return header(self.headers, "content-type").partition(";")[0].strip().lower()

    @cached_property
    def body(self) -> bytes:
        """The body without content encoding. Raises `dragstrip.pages.format.coding.CodingError`."""
        return decode(self.wire, self.coding)


class Recording(Struct, frozen=True, kw_only=True):
    """A whole page in memory, ready to be written."""

    name: str
    url: str
    """Where a visit starts."""
    source: str
    changes: tuple[str, ...] = ()
    answers: Sequence[Recorded]
    """In recorded order. Iterated more than once, so it may read its bodies from disk."""
    failures: tuple[Failure, ...] = ()
    screenshot: bytes = b""
    """The page as it looked when recorded, PNG; empty without a screenshot."""
    load_ms: float | None = None
    """Load event of the recorded visit, from the first request's start."""


def one_line(text: str) -> str:
    """Text of a recording, shortened for use in a sentence."""
    return re.sub(r"[^!-~]+", " ", text)[:200]


def header(headers: Iterable[tuple[str, str]], name: str) -> str:
    """The first value of that name (case does not matter), or an empty string."""
    return next((v for n, v in headers if n.lower() == name), "")


def is_connection_header(name: str) -> bool:
    """Whether it describes the recorded connection, so that a page file leaves it out."""
    return name.lower() in _CONNECTION_HEADERS or name.lower().startswith("proxy-")


def replaying(headers: Iterable[tuple[str, str]]) -> Headers:
    """The headers that describe the answer and not the connection it came over.

    What HTTP/2 and HTTP/3 cannot carry (RFC 9113 section 8.2.1) goes too.
    """
    return tuple(
        (name, _CONTROLS.sub("", value))
        for name, value in headers
        if _TOKEN.fullmatch(name) and not is_connection_header(name)
    )
