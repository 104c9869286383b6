"""Defines HAR 1.2 as typed records, with the `_dragstrip` fields of docs/reference/page-format.md.

The records have only the fields that a page file needs; all other fields are ignored.
"""

from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from dragstrip.model.done import AT_LOAD
from dragstrip.model.graph import Graph


class Part(Struct, frozen=True, rename="camel"):
    """Base of all records, with HAR's camel case names."""


class Pair(Part, frozen=True, kw_only=True):
    """A header or a query parameter."""

    name: str
    value: str


class Request(Part, frozen=True, kw_only=True):
    method: str
    url: str
    http_version: str
    cookies: tuple[Any, ...] = ()
    headers: tuple[Pair, ...]
    query_string: tuple[Pair, ...]
    headers_size: int = -1
    body_size: int = -1


class Content(Part, frozen=True, kw_only=True, omit_defaults=True):
    size: int
    mime_type: str
    file: str | None = field(default=None, name="_file")


class ResponseExtra(
    Part, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True
):
    wire_file: str | None = field(default=None, name="wire_file")


class Response(Part, frozen=True, kw_only=True):
    status: int
    status_text: str
    http_version: str
    cookies: tuple[Any, ...] = ()
    headers: tuple[Pair, ...]
    content: Content
    redirect_url: str = field(name="redirectURL")
    headers_size: int = -1
    body_size: int
    dragstrip: ResponseExtra = field(default=ResponseExtra(), name="_dragstrip")


class Timings(Part, frozen=True, kw_only=True):
    send: float = 0
    wait: float = 0
    receive: float = 0


class Initiator(Part, frozen=True, kw_only=True, omit_defaults=True):
    """The initiator of a request, in the format of browsers' own exports."""

    url: str = ""
    inferred: bool = False


class EntryExtra(Part, frozen=True, kw_only=True, omit_defaults=True):
    think_ms: float | None = field(default=None, name="think_ms")
    held: bool = False
    opened_s: float = field(default=0.0, name="opened_s")


class Message(Part, frozen=True, kw_only=True):
    """A message of a WebSocket in the format of Chromium's exports."""

    type: Literal["send", "receive"]
    time: float
    """Time in seconds of the Unix epoch."""
    opcode: int
    """Opcode (RFC 6455 section 11.8)."""
    data: str
    """The text, or base64 if the opcode is not text."""


class Entry(Part, frozen=True, kw_only=True, omit_defaults=True):
    pageref: str
    started_date_time: datetime
    time: float
    request: Request
    response: Response
    cache: dict[str, Any]
    timings: Timings
    server_ip: str = field(default="", name="serverIPAddress")
    initiator: Initiator = field(default=Initiator(), name="_initiator")
    early_hints: tuple[str, ...] = field(default=(), name="_early_hints")
    resource_type: str = field(default="", name="_resourceType")
    messages: tuple[Message, ...] = field(default=(), name="_webSocketMessages")
    dragstrip: EntryExtra = field(default=EntryExtra(), name="_dragstrip")


class PageTimings(Part, frozen=True, kw_only=True, omit_defaults=True):
    """Times of the recorded visit. They are left out if a recording has bodies but no visit."""

    on_load: float | None = None


class HarPage(Part, frozen=True, kw_only=True):
    started_date_time: datetime
    id: str
    title: str
    page_timings: PageTimings = PageTimings()


class Creator(Part, frozen=True, kw_only=True):
    name: str
    version: str


class Failed(Part, frozen=True, kw_only=True):
    """A request without a recorded answer."""

    method: str
    url: str
    error: str


class LogExtra(Part, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    format: int
    name: str
    url: str
    source: str
    changes: tuple[str, ...]
    screenshot: str | None = None
    done: str = AT_LOAD
    failed: tuple[Failed, ...] = ()
    certificates: dict[str, tuple[str, ...]] = {}
    graph: Graph | None = None


class Log(Part, frozen=True, kw_only=True):
    version: str
    creator: Creator
    pages: tuple[HarPage, ...]
    entries: tuple[Entry, ...]
    dragstrip: LogExtra = field(name="_dragstrip")


class Har(Part, frozen=True, kw_only=True):
    log: Log


def encode(har: Har) -> bytes:
    return msgspec.json.format(msgspec.json.encode(har), indent=1)


def decode(text: bytes) -> Har:
    """Read a HAR. Raises `msgspec.DecodeError`, whose text ends with the JSON path of the error."""
    return msgspec.json.decode(text, type=Har)
