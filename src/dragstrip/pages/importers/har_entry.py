"""Reads one entry of a HAR, in any dialect, as an exchange."""

import base64
import binascii
from datetime import datetime
from typing import Any

from msgspec import Struct

from dragstrip.pages.format.recorded_servers import certificate
from dragstrip.pages.format.recording import Certificate, Headers, PageError, header
from dragstrip.pages.importers.har_container import HarBodies, Missing
from dragstrip.pages.importers.har_json import Part
from dragstrip.pages.importers.har_text import encoded, in_utf8
from dragstrip.pages.importers.sentences import Notes

_OPENING = ("blocked", "dns", "connect", "send", "wait")
"""Phases of HAR's timings before the answer. `connect` includes TLS."""
_MOST_BYTES = 2_000_000_000
"""Number of bytes above which a size is taken for a mistake and ignored."""


class HarExchange(Struct, frozen=True, kw_only=True):
    """One entry of a HAR. A size is None if the recorder did not know it (HAR's -1)."""

    place: str
    """Place of the entry in the file, such as ``log.entries[3]``."""
    url: str
    method: str
    status: int
    status_text: str
    http_version: str
    headers: Headers
    request_headers: Headers
    content_type: str
    """Media type from the header, else from ``content.mimeType``."""
    location: str
    """Target of a redirect, as it was recorded; empty for other answers."""
    started: datetime
    start_ms: float
    """Start of the request in ms since the start of the HAR's page."""
    end_ms: float
    headers_bytes: int | None
    body_bytes: int | None
    transfer_bytes: int | None
    content_bytes: int | None
    content: bytes | None
    """The body without content encoding, in its own charset; None if the HAR lacks it."""
    wait_ms: float | None
    """Time in ms from the request's end to the answer's first byte."""
    connect_ms: float | None
    """Time in ms to connect by TCP or QUIC, without TLS; None if the request used an open
    connection."""
    upload_bytes: int
    cached: bool
    initiator: str
    """URL of the resource that caused the request; empty if the HAR does not say."""
    resource_type: str
    """Chromium's name of the resource type, in lower case; empty if the HAR does not say."""
    priority: str
    early_hints: tuple[str, ...]
    """The `link` values of a preceding answer with status 103, from our own HAR field; none without
    that field."""
    server_ip: str
    """The server's address as it was recorded; empty if the HAR does not say."""
    certificate: Certificate | None
    """The server's certificate; None if the HAR does not say."""
    messages: Any = None
    """Messages of a WebSocket in the HAR's format, which `dragstrip.pages.importers.har_sockets`
    reads."""
    opening_ms: float = 0.0
    """Time in ms from the start until the answer began, from the HAR's timings."""

    @property
    def mime(self) -> str:
        """Media type without parameters."""
        return self.content_type.partition(";")[0].strip().lower()


class Reader:
    """Converts entries to exchanges, and records its changes."""

    def __init__(self, bodies: HarBodies, notes: Notes) -> None:
        self._bodies = bodies
        self._notes = notes

    def exchange(self, entry: Part, place: str, started: datetime, begun: datetime) -> HarExchange:
        """Read an entry. Raises `PageError` for a body that contradicts its description, and beyond
        a limit."""
        request, response = entry.part("request"), entry.part("response")
        content, timings = response.part("content"), entry.part("timings")
        headers = _pairs(response)
        url = request.text("url")
        status = _status(response)
        kind = header(headers, "content-type") or content.text("mimeType")
        body, charset = self._content(content, kind, place)
        if charset:
            self._notes.add(f"bodies are served in UTF-8, because they do not fit {charset}", url)
            kind = in_utf8(kind)
            headers = (
                *(h for h in headers if h[0].lower() != "content-type"),
                ("content-type", kind),
            )
        start_ms = (started - begun).total_seconds() * 1000
        location = response.text("redirectURL") or header(headers, "location")
        return HarExchange(
            place=place,
            url=url,
            method=request.text("method").upper() or "GET",
            status=status,
            status_text=response.text("statusText"),
            http_version=response.text("httpVersion"),
            headers=headers,
            request_headers=_pairs(request),
            content_type=kind,
            location=location if 300 <= status < 400 else "",
            started=started,
            start_ms=start_ms,
            end_ms=start_ms + max(0.0, entry.number("time") or 0.0),
            headers_bytes=_size(response, "headersSize"),
            body_bytes=_size(response, "bodySize"),
            transfer_bytes=_size(response, "_transferSize"),
            content_bytes=_size(content, "size"),
            content=body,
            wait_ms=_time(timings, "wait"),
            connect_ms=_connect_ms(timings),
            upload_bytes=_size(request, "bodySize") or len(request.part("postData").text("text")),
            cached=_cached(response),
            initiator=_initiator(entry.value("_initiator")),
            resource_type=entry.text("_resourceType").lower(),
            priority=entry.text("_priority"),
            early_hints=_links(entry.value("_early_hints")),
            server_ip=entry.text("serverIPAddress", "_ip_addr"),  # WebPageTest's name
            certificate=certificate(entry.value("_securityDetails")),
            messages=entry.value("_webSocketMessages"),
            opening_ms=sum(_time(timings, phase) or 0.0 for phase in _OPENING),
        )

    def _content(self, content: Part, kind: str, place: str) -> tuple[bytes | None, str]:
        """Return the body, and the charset that it claims but could not be encoded in; empty if
        there is none."""
        if name := content.text("_file"):
            try:
                return self._bodies.read(name), ""
            except Missing as error:
                self._notes.add(f"bodies are not there, {error}", name)
                return None, ""
        if not isinstance(content.value("text"), str):
            return None, ""
        text = content.text("text")
        if content.text("encoding").lower() != "base64":
            return encoded(text, kind, _size(content, "size"))
        try:
            return base64.b64decode(text), ""
        except (binascii.Error, ValueError) as error:
            raise PageError(f"{place}.response.content.text is not base64: {error}") from None


def _pairs(message: Part) -> Headers:
    return tuple((p.text("name"), p.text("value")) for p in message.parts("headers"))


def _status(response: Part) -> int:
    status = response.number("status") or 0
    return int(status) if 0 <= status < 1000 else 0


def _size(part: Part, name: str) -> int | None:
    value = part.number(name)
    return int(value) if value is not None and 0 <= value <= _MOST_BYTES else None


def _time(timings: Part, name: str) -> float | None:
    value = timings.number(name)
    return value if value is not None and value >= 0 else None


def _connect_ms(timings: Part) -> float | None:
    """Return the time in ms to connect without TLS. HAR's ``connect`` includes ``ssl``; if
    ``connect`` is shorter than ``ssl``, the tool left TLS out."""
    connect, tls = _time(timings, "connect"), _time(timings, "ssl") or 0.0
    if not connect:
        return None
    return connect - tls if connect > tls else connect


def _cached(response: Part) -> bool:
    """Return whether the recorder's browser had the body in its cache and fetched almost
    nothing."""
    if response.number("status") == 304:
        return True
    unsent = not _size(response, "_transferSize") and not _size(response, "bodySize")
    was_sized = response.number("_transferSize") == 0
    return was_sized and unsent and bool(_size(response.part("content"), "size"))


def _links(value: Any) -> tuple[str, ...]:
    return tuple(v for v in value if isinstance(v, str)) if isinstance(value, list) else ()


def _initiator(value: Any) -> str:
    """Return the initiator's URL, from the formats of Chromium, chrome-har and WebPageTest."""
    if isinstance(value, str):
        return value
    if not isinstance(value, dict):
        return ""
    if isinstance(url := value.get("url"), str) and url:
        return url
    stack = value.get("stack")
    while isinstance(stack, dict):
        frames = stack.get("callFrames")
        for frame in frames if isinstance(frames, list) else ():
            if isinstance(frame, dict) and isinstance(url := frame.get("url"), str) and url:
                return url
        stack = stack.get("parent")
    return ""
