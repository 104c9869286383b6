"""Reads WebSockets of the page file: entries after all others, with the fields of Chromium's
exports."""

import base64
import binascii
from datetime import timedelta
from urllib.parse import urlsplit

from dragstrip.model.sockets import SWITCHED, TEXT, PageSocket
from dragstrip.pages.format import har
from dragstrip.pages.format.recording import RecordedSocket, header
from dragstrip.pages.format.urls import Unservable, servable_socket

KIND = "websocket"
_SUBPROTOCOL = "sec-websocket-protocol"


def is_socket(entry: har.Entry) -> bool:
    return urlsplit(entry.request.url).scheme in ("ws", "wss")


def page_socket(entry: har.Entry) -> PageSocket:
    """Return the WebSocket in this entry. Raises `ValueError`, which names the place in the
    entry."""
    url = entry.request.url
    try:
        if (normal := servable_socket(url, keep_http=True)) != url:
            raise Unservable(f"it should be {normal}")
    except Unservable as error:
        raise ValueError(f"request.url {url!r} cannot be served: {error}") from None
    if entry.response.status != SWITCHED:
        raise ValueError(f"response.status {entry.response.status} opens no WebSocket")
    said = [m for m in entry.messages if m.type == "receive"]
    return PageSocket(
        url=url, messages=len(said), message_bytes=sum(_size(m, i) for i, m in enumerate(said))
    )


def _size(message: har.Message, index: int) -> int:
    if message.opcode == TEXT:
        return len(message.data.encode())
    try:
        return len(base64.b64decode(message.data, validate=True))
    except binascii.Error:
        raise ValueError(f"_webSocketMessages[{index}].data is not base64") from None


def entry_of(socket: RecordedSocket) -> har.Entry:
    opened = socket.started + timedelta(milliseconds=socket.open_ms)
    chosen = header(socket.headers, _SUBPROTOCOL)
    return har.Entry(
        pageref="page_1",
        started_date_time=socket.started,
        time=socket.time_ms,
        cache={},
        initiator=har.Initiator(url=socket.initiator),
        timings=har.Timings(wait=socket.open_ms),
        resource_type=KIND,
        messages=tuple(
            har.Message(
                type="send" if message.sent else "receive",
                time=opened.timestamp() + message.at_ms / 1000,
                opcode=message.opcode,
                data=message.data,
            )
            for message in socket.messages
        ),
        dragstrip=har.EntryExtra(opened_s=opened.timestamp()),
        request=har.Request(
            method="GET",
            url=socket.url,
            http_version=socket.http_version,
            headers=(),
            query_string=(),
        ),
        response=har.Response(
            status=SWITCHED,
            status_text="Switching Protocols",
            http_version=socket.http_version,
            headers=(har.Pair(name=_SUBPROTOCOL, value=chosen),) if chosen else (),
            redirect_url="",
            body_size=0,
            content=har.Content(size=0, mime_type=""),
        ),
    )
