"""WebSockets (RFC 6455): in a page's recording, as seen by a browser, and as logged by a server."""

from urllib.parse import urlsplit

from msgspec import Struct

from dragstrip.model.stack import Protocol

SWITCHED = 101
"""Status of the HTTP/1.1 answer that opens a WebSocket (RFC 6455 section 4.2.2)."""
TEXT, BINARY = 1, 2
"""Opcodes of a message's type (RFC 6455 section 11.8)."""


class PageSocket(Struct, frozen=True, kw_only=True):
    """A WebSocket of the recording."""

    url: str
    messages: int = 0
    """Messages that the server sent."""
    message_bytes: int = 0
    """Bytes of these messages' payload."""

    @property
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""


class Socket(Struct, frozen=True, kw_only=True):
    """A WebSocket that the page opened, as the browser saw it.

    Times count like those of a visit's requests; a time is None if the browser did not report it.
    Messages, and the bytes of their payload, are counted until the visit's end.
    """

    url: str
    host: str
    initiator: str = ""
    """URL of the script that opened the socket, if the browser named one."""
    status: int = 0
    """Status of the answer to the socket's handshake; 0 without an answer."""
    error: str = ""
    """The browser's error message; empty if nothing failed."""
    start_ms: float
    open_ms: float | None = None
    end_ms: float | None = None
    """When the socket was closed; None if it was open at the visit's end."""
    sent_messages: int = 0
    sent_bytes: int = 0
    received_messages: int = 0
    received_bytes: int = 0


class ServedSocket(Struct, frozen=True, kw_only=True):
    """A WebSocket that a server opened, or was asked to open, as its log shows it."""

    t_us: int
    """When the request's headers were complete, in us of the Unix epoch."""
    host: str
    url: str
    protocol: Protocol
    """Protocol of the connection that carries the socket."""
    connection: int
    client_port: int
    status: int
    recorded: bool | None = None
    """Whether the recording has the socket; a socket that it lacks stays open and silent. This
    field and the counts below are None if the server does not report them."""
    sent_messages: int | None = None
    sent_bytes: int | None = None
    received_messages: int | None = None
    received_bytes: int | None = None


def socket_url(url: str) -> str:
    """Return the URL of a socket, given the URL of its handshake request."""
    return url.replace("http", "ws", 1) if url.startswith("http") else url
