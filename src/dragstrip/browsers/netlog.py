"""Reads every request from Chromium's NetLog, with bodies as they were sent over the wire.

A NetLog made with ``--net-log-capture-mode=Everything`` is the only place where a browser reports
bodies before content decoding. A NetLog also covers requests that a page session of DevTools lacks:
requests of workers, of frames in other processes, and preflights. The format is one JSON object per
line (https://www.chromium.org/developers/design-documents/network-stack/netlog); the first line
maps event types to numbers.
"""

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dragstrip.pages.format.recording import Headers

_BEGIN, _END = 1, 2
# Encoded bytes are reported only if there is an encoding.
_BYTES = {True: "URL_REQUEST_JOB_BYTES_READ", False: "URL_REQUEST_JOB_FILTERED_BYTES_READ"}
_SEND = frozenset(
    f"HTTP_TRANSACTION_{kind}SEND_REQUEST_HEADERS" for kind in ("", "HTTP2_", "QUIC_")
)
_HEADERS_OF_STREAMS = frozenset(f"HTTP2_SESSION_{way}_HEADERS" for way in ("SEND", "RECV"))


class NetLogError(ValueError):
    """Raised for a file that is not a NetLog; the message says what is missing."""


class LoggedRequest(Struct, kw_only=True):
    """A request that reached the network, and its answer. Times are in ms of the Unix epoch."""

    url: str
    method: str
    started_ms: float
    request_headers: Headers = ()
    sent_ms: float | None = None
    """When the request left."""
    answered_ms: float | None = None
    """When the answer's headers arrived."""
    ended_ms: float | None = None
    status_line: str = ""
    """Status line of the answer; empty if no answer arrived."""
    headers: Headers = ()
    early_hints: tuple[str, ...] = ()
    """`link` values of an answer with status 103 before the final one (RFC 8297)."""
    body: Path
    """File with the body as it was sent over the wire: de-chunked, with its content encoding. No
    file exists if the answer had no body."""
    coded: bool = False
    """Whether the body has a content encoding that the browser decoded."""
    error: str = ""
    """The browser's network error, such as ``ERR_ABORTED``."""


class _Source(Struct):
    id: int


class _Event(Struct):
    source: _Source
    time: str
    type: int
    phase: int
    params: dict[str, Any] = {}


class _Constants(Struct, rename="camel"):
    log_event_types: dict[str, int]
    net_error: dict[str, int]
    time_tick_offset: int


class _Head(Struct):
    constants: _Constants


def read_netlog(path: Path, bodies: Path) -> list[LoggedRequest]:
    """Return every request in the log, by start time. Bodies are written to files in `bodies`.

    The log is read line by line, so memory stays near the longest line (64 kB of body). A log that
    was cut off, as by a crash of the browser, is read to its end. Raises `NetLogError`.
    """
    with path.open("rb") as file:
        constants = _constants(file.readline())
        reader = _Reader(constants, bodies)
        for event in _events(file):
            reader.take(event)
    return reader.requests


def _constants(line: bytes) -> _Constants:
    try:
        return msgspec.json.decode(line.rstrip(b",\r\n") + b"}", type=_Head).constants
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise NetLogError(f"its first line holds no constants ({error})") from None


def _events(lines: Iterator[bytes]) -> Iterator[_Event]:
    decoder = msgspec.json.Decoder(_Event)
    for line in lines:
        try:
            yield decoder.decode(line.rstrip(b",\r\n"))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # the array's brackets, the trailer, or the line at which the log breaks off


class _Reader:
    """Groups events by source. A redirect begins another request of the same source."""

    def __init__(self, constants: _Constants, bodies: Path) -> None:
        self._names = {number: name for name, number in constants.log_event_types.items()}
        self._errors = {number: name for name, number in constants.net_error.items()}
        self._offset_ms = constants.time_tick_offset
        self._bodies = bodies
        self._open: dict[int, LoggedRequest] = {}
        self._jobs: dict[int, int] = {}
        """Source id of the request, by the source id of the job that finds a stream for it."""
        self._streams: dict[tuple[int, int], int] = {}
        """Source id of the request, by HTTP/2 session and stream."""
        self.requests: list[LoggedRequest] = []

    def take(self, event: _Event) -> None:
        name, source = self._names.get(event.type, ""), event.source.id
        now_ms = float(event.time) + self._offset_ms
        if name == "URL_REQUEST_START_JOB" and event.phase == _BEGIN:
            self._begin(source, event.params, now_ms)
        elif name == "HTTP_STREAM_REQUEST_BOUND_TO_JOB":
            self._jobs[_dependency(event.params)] = source
        elif name in _HEADERS_OF_STREAMS:
            self._pass_headers(name, event)
        elif current := self._open.get(source):
            self._go_on(current, name, event, now_ms)

    def _begin(self, source: int, params: dict[str, Any], now_ms: float) -> None:
        url = str(params.get("url", ""))
        if url.lower().startswith(("https:", "http:")):
            method = str(params.get("method", "GET"))
            body = self._bodies / f"{len(self.requests)}.body"
            begun = LoggedRequest(url=url, method=method, started_ms=now_ms, body=body)
            self._open[source] = begun
            self.requests.append(begun)

    def _pass_headers(self, name: str, event: _Event) -> None:
        """Skip 103 answers that the browser did not use. Their headers came with those of the final
        answer."""
        params = event.params
        stream = event.source.id, int(params["stream_id"])
        if name == "HTTP2_SESSION_SEND_HEADERS":
            self._streams[stream] = self._jobs.get(_dependency(params), 0)
        elif ":status: 103" in params["headers"] and stream in self._streams:
            current = self._open.get(self._streams[stream])
            if current:
                current.early_hints += _links(params["headers"])

    def _go_on(self, current: LoggedRequest, name: str, event: _Event, now_ms: float) -> None:
        params = event.params
        if name in _SEND:
            current.request_headers = _headers(params["headers"])
        elif name == "HTTP_TRANSACTION_SEND_REQUEST" and event.phase == _END:
            current.sent_ms = now_ms
        elif name == "HTTP_TRANSACTION_READ_EARLY_HINTS_RESPONSE_HEADERS":
            current.early_hints = current.early_hints or _links(params["headers"][1:])
        elif name == "HTTP_TRANSACTION_READ_RESPONSE_HEADERS":
            current.status_line, *lines = params["headers"]
            current.headers, current.answered_ms = _headers(lines), now_ms
        elif name == "URL_REQUEST_FILTERS_SET":
            current.coded = True
        elif name == _BYTES[current.coded]:
            self._add(current, params, now_ms)
        elif name == "CANCELLED":
            current.error = current.error or "ERR_ABORTED"
        elif name == "FAILED" or (name == "REQUEST_ALIVE" and event.phase == _END):
            current.ended_ms = now_ms
            if number := params.get("net_error"):
                current.error = self._errors.get(number, str(number))

    def _add(self, current: LoggedRequest, params: dict[str, Any], now_ms: float) -> None:
        current.ended_ms = now_ms
        with current.body.open("ab") as file:
            file.write(base64.b64decode(params.get("bytes", "")))


def _dependency(params: dict[str, Any]) -> int:
    return int(params.get("source_dependency", {}).get("id", 0))


def _links(lines: list[str]) -> tuple[str, ...]:
    return tuple(value for name, value in _headers(lines) if name.lower() == "link")


def _headers(lines: list[str]) -> Headers:
    """Split ``name: value`` lines into pairs, without pseudo-headers."""
    pairs = (line.partition(":") for line in lines if not line.startswith(":"))
    return tuple((name, value.strip()) for name, _, value in pairs)
