"""A page: a document and its resources, with the hosts they came from."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

DIGEST_DIGITS = 16


def digest_of(body: bytes) -> str:
    """First 16 hex digits of the SHA-256 of a body without its content encoding."""
    return hashlib.sha256(body).hexdigest()[:DIGEST_DIGITS]


class Resource(Struct, frozen=True, kw_only=True):
    """One recorded request and its response."""

    url: str
    method: str
    status: int
    mime: str
    """Media type without parameters; empty if the answer had none."""
    body_bytes: int
    """Length of the body as it crosses the wire (with its content encoding)."""
    decoded_bytes: int | None = None
    """Length of the body without its content encoding; None in manifests older than the field."""
    digest: str = ""
    """Of that body, see `digest_of`; empty in manifests older than the field."""
    initiator: str = ""
    """URL of the resource that caused the request, if recorded."""
    inferred: bool = False
    """The initiator is the importer's guess, because the recording named none."""
    start_ms: float = 0.0
    """Start of the request, from the recording's first."""
    time_ms: float = 0.0
    """How long the recorded exchange took; 0 if not recorded."""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def address(self) -> str:
        return address(self.url)


def address(url: str) -> str:
    """The URL without query and path parameters (RFC 3986 section 3.3), which are often random."""
    return re.split("[?;]", url, maxsplit=1)[0]


class Failure(Struct, frozen=True, kw_only=True):
    """A request without a recorded answer."""

    url: str
    method: str
    error: str
    """The browser's network error, such as ``ERR_NAME_NOT_RESOLVED``."""


class Page(Struct, frozen=True, kw_only=True):
    """A recording without its bodies; the file at `path` has everything."""

    name: str
    path: Path
    """The canonical ``.har.zip`` that the origin serves."""
    url: str
    """Where a visit starts."""
    resources: tuple[Resource, ...]
    source: str
    """Where the recording comes from, in words."""
    changes: tuple[str, ...] = ()
    """What an importer changed, in words, such as http:// served as https."""
    digest: str
    """First 12 hex digits of the SHA-256 of the file."""
    failures: tuple[Failure, ...] = ()
    recorded_ms: float | None = None
    """When the recording began, ms of the Unix epoch."""
    load_ms: float | None = None
    """Load event of the recorded visit, from its first request's start, if it was one."""
    spoken: Mapping[str, Literal["h1", "h2", "h3"]] = {}
    """By host, the protocol of most recorded answers over https; hosts without one are left out."""
    live: bool = False
    """Served live by its own site, not recorded; `path` and `resources` are empty."""
    screenshot: str | None = None
    """Member of the archive with the page's picture (PNG) as recorded."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every host of the recording once, the document's own first."""
        first = urlsplit(self.url).hostname or ""
        return tuple(dict.fromkeys([first, *(r.host for r in self.resources)]))

    @property
    def body_bytes(self) -> int:
        return sum(r.body_bytes for r in self.resources)
