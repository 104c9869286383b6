"""The type that every importer and generator returns: a page as recorded answers with bodies.

`dragstrip.pages.format.archive` writes it to a page file.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cached_property

from msgspec import Struct

from dragstrip.model.done import AT_LOAD
from dragstrip.model.errors import InputError
from dragstrip.model.page import Failure
from dragstrip.pages.format.coding import decode

Headers = tuple[tuple[str, str], ...]

EPOCH = datetime(2020, 1, 1, tzinfo=UTC)
"""Date of generated pages: a constant, so that their bytes never change."""

_CONNECTION_HEADERS = frozenset(
    "transfer-encoding connection keep-alive upgrade alt-svc strict-transport-security "
    "content-length".split()
)
TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CONTROLS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
HTML = ("text/html", "application/xhtml+xml")
"""Media types of documents."""
REFERRING = (*HTML, "text/css")
"""Media types of text that may name other resources."""
REDIRECTS = frozenset({301, 302, 303, 307, 308})


class PageError(InputError):
    """Raised if a page is not available. The text names the file, the place in it and what to
    do."""


class Certificate(Struct, frozen=True):
    """A server's certificate, as far as it was recorded."""

    id: str
    """Id of the certificate. Equal certificates have equal ids, as far as they were recorded."""
    names: tuple[str, ...]
    """DNS names in the certificate, as far as recorded. The first label may be ``*``."""


class Recorded(Struct, frozen=True, kw_only=True, dict=True):
    """A request and its answer."""

    url: str
    method: str = "GET"
    status: int = 200
    status_text: str = ""
    http_version: str = "HTTP/1.1"
    headers: Headers = ()
    request_headers: Headers = ()
    upload_bytes: int = 0
    """Length in bytes of the request's body."""
    held: bool = False
    """Whether a script of the document requests the object once all objects in the markup have
    ended. The load event waits for the object's end."""
    wire: bytes = b""
    """The body as it was sent over the wire: de-chunked, with its content encoding."""
    started: datetime = EPOCH
    time_ms: float = 0.0
    """Duration of the exchange in ms; 0 if not recorded."""
    initiator: str = ""
    """URL of the resource that caused the request, if the recorder named one."""
    inferred: bool = False
    """Whether the initiator is the importer's guess, because the recorder named none."""
    think_ms: float | None = None
    """Time in ms that the server took to answer, without the round trip; None if not recorded."""
    early_hints: tuple[str, ...] = ()
    """The `link` values of an answer with status 103 (RFC 8297) that came before this answer."""
    server_ip: str = ""
    """Address of the server that answered; empty if not recorded."""
    certificate: Certificate | None = None
    """The server's certificate; None if not recorded."""

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


class Message(Struct, frozen=True, kw_only=True):
    """One message of a WebSocket."""

    sent: bool
    """Whether the page sent the message; otherwise its server did."""
    at_ms: float
    """Time in ms since the socket opened."""
    opcode: int
    """Opcode (RFC 6455 section 11.8): 1 is text, 2 is binary."""
    data: str
    """The text, or base64 if the opcode is not text."""


class RecordedSocket(Struct, frozen=True, kw_only=True):
    """A WebSocket (RFC 6455) that opened."""

    url: str
    http_version: str = "HTTP/1.1"
    headers: Headers = ()
    """Headers of the answer that opened the socket."""
    started: datetime = EPOCH
    open_ms: float = 0.0
    """Time in ms from the start of the handshake until the socket was open."""
    time_ms: float = 0.0
    """Time in ms from the start of the handshake until the socket closed or the recording ended."""
    initiator: str = ""
    messages: tuple[Message, ...] = ()


class Recording(Struct, frozen=True, kw_only=True):
    """A complete page in memory, ready to be written."""

    name: str
    url: str
    """URL where a visit starts."""
    source: str
    changes: tuple[str, ...] = ()
    answers: Sequence[Recorded]
    """The answers in recorded order. The sequence is iterated more than once, so it may read bodies
    from disk each time."""
    failures: tuple[Failure, ...] = ()
    sockets: tuple[RecordedSocket, ...] = ()
    screenshot: bytes = b""
    """The page as it looked when recorded, PNG; empty without a screenshot."""
    done: str = AT_LOAD
    """Condition for the page to count as loaded, see `dragstrip.model.done`."""
    load_ms: float | None = None
    """Load event of the recorded visit, in ms since the first request started; None if not
    recorded."""


def one_line(text: str) -> str:
    """Return text from a recording on one line, shortened for use in a sentence."""
    return re.sub(r"[^!-~]+", " ", text)[:200]


def header(headers: Iterable[tuple[str, str]], name: str) -> str:
    """Return the value of the first header with this name (case does not matter), or an empty
    string."""
    return next((v for n, v in headers if n.lower() == name), "")


def is_connection_header(name: str) -> bool:
    """Return whether a header describes the recorded connection, so that a page file leaves it
    out."""
    return name.lower() in _CONNECTION_HEADERS or name.lower().startswith("proxy-")


def replaying(headers: Iterable[tuple[str, str]]) -> Headers:
    """Return the headers to replay: those that describe the answer and not its connection.

    Headers that HTTP/2 and HTTP/3 cannot carry (RFC 9113 section 8.2.1) are left out, too.
    """
    return tuple(
        (name, _CONTROLS.sub("", value))
        for name, value in headers
        if TOKEN.fullmatch(name) and not is_connection_header(name)
    )
