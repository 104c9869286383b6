"""A page: a document and its resources, with the hosts they came from."""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from dragstrip.model.done import AT_LOAD
from dragstrip.model.sockets import PageSocket

DIGEST_DIGITS = 16


def digest_of(body: bytes) -> str:
    """Return the first 16 hex digits of the SHA-256 of a body without its content encoding."""
    return hashlib.sha256(body).hexdigest()[:DIGEST_DIGITS]


class Resource(Struct, frozen=True, kw_only=True):
    """One recorded request and its response."""

    url: str
    method: str
    status: int
    mime: str
    """Media type without parameters; empty if the answer had none."""
    body_bytes: int
    """Length in bytes of the body as sent over the wire (with its content encoding)."""
    decoded_bytes: int | None = None
    """Length in bytes of the body without its content encoding; None in manifests older than the
    field."""
    digest: str = ""
    """Digest of the body without its content encoding, see `digest_of`; empty in manifests older
    than the field."""
    initiator: str = ""
    """URL of the resource that caused the request, if recorded."""
    inferred: bool = False
    """Whether the initiator is the importer's guess, because the recording named none."""
    upload_bytes: int = 0
    """Length of the request's body in bytes, if the page always sends the same body; 0 if scripts
    decide it."""
    start_ms: float = 0.0
    """Start of the request, in ms since the recording's first."""
    time_ms: float = 0.0
    """Duration of the recorded exchange in ms; 0 if not recorded."""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def address(self) -> str:
        return address(self.url)


def address(url: str) -> str:
    """Return the URL without query and path parameters (RFC 3986 section 3.3), which are often
    random."""
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
    """URL where a visit starts."""
    resources: tuple[Resource, ...]
    source: str
    """Where the recording comes from, in words."""
    changes: tuple[str, ...] = ()
    """Changes by the importer, in words, such as http:// served as https."""
    digest: str
    """First 12 hex digits of the SHA-256 of the file."""
    failures: tuple[Failure, ...] = ()
    sockets: tuple[PageSocket, ...] = ()
    """The page's WebSockets."""
    recorded_ms: float | None = None
    """Start of the recording, in ms of the Unix epoch; None if not recorded."""
    load_ms: float | None = None
    """Load event of the recorded visit in ms since its first request started; None if not
    recorded."""
    spoken: Mapping[str, Literal["h1", "h2", "h3"]] = {}
    """The protocol of most recorded answers over https, by host; hosts without one are left out."""
    addresses: Mapping[str, str] = {}
    """The address that gave most of a host's recorded answers, by host; hosts without one are left
    out."""
    certificates: Mapping[str, tuple[str, ...]] = {}
    """The hosts of the page that each host's recorded certificate covers. Hosts without a recorded
    certificate are left out."""
    live: bool = False
    """Whether the page's own site serves it live; then `path` and `resources` are empty."""
    done: str = AT_LOAD
    """Condition for the page to count as loaded, see `dragstrip.model.done`."""
    screenshot: str | None = None
    """Member of the archive with the page's picture (PNG) as recorded."""

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every host of the recording once, the document's host first."""
        first = urlsplit(self.url).hostname or ""
        others = [*(r.host for r in self.resources), *(s.host for s in self.sockets)]
        return tuple(dict.fromkeys([first, *others]))

    @property
    def ports(self) -> tuple[int, ...]:
        """Ports in the page's URLs other than 80 and 443, ascending."""
        return tuple(sorted(self.http_ports | self.https_ports))

    @property
    def http_ports(self) -> frozenset[int]:
        """The ports of `ports` that are used without TLS."""
        return self._ports("http", "ws")

    @property
    def https_ports(self) -> frozenset[int]:
        """The ports of `ports` that are used with TLS."""
        return self._ports("https", "wss")

    def _ports(self, *schemes: str) -> frozenset[int]:
        urls = [*(r.url for r in self.resources), *(s.url for s in self.sockets)]
        places = (urlsplit(url) for url in urls)
        return frozenset(p.port for p in places if p.port is not None and p.scheme in schemes)

    @property
    def body_bytes(self) -> int:
        return sum(r.body_bytes for r in self.resources)

    @property
    def upload_bytes(self) -> int:
        """Bytes that every load uploads, see `Resource.upload_bytes`."""
        return sum(r.upload_bytes for r in self.resources)
