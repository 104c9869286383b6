"""Reads WebSockets from the HARs of Chromium, Playwright and mitmproxy."""

import base64
import binascii
import math
from collections.abc import Iterator
from typing import Any

from dragstrip.model.sockets import BINARY, SWITCHED, TEXT, socket_url
from dragstrip.pages.format.recording import Message, RecordedSocket
from dragstrip.pages.importers.har_entry import HarExchange

_MILLISECONDS = 1e11
"""Number above which a time is taken to be in ms: as seconds it would be beyond the year 5000."""


def is_socket(exchange: HarExchange) -> bool:
    """Return whether the exchange opened a WebSocket, over any protocol."""
    scheme = exchange.url.partition(":")[0].lower()
    return exchange.status == SWITCHED or (scheme in ("ws", "wss") and exchange.status == 200)


def socket_of(exchange: HarExchange) -> RecordedSocket:
    """Return the WebSocket of an exchange for which `is_socket` is true. Unreadable messages are
    left out."""
    said = list(_messages(exchange.messages))
    lasted_ms = exchange.end_ms - exchange.start_ms
    start_s = exchange.started.timestamp()
    first_ms = min((at_s - start_s for at_s, *_ in said), default=lasted_ms / 1000) * 1000
    # If a tool does not record when the handshake ended, the socket was open at the latest when the
    # first message came.
    open_ms = max(0.0, min(exchange.opening_ms, first_ms))
    return RecordedSocket(
        url=socket_url(exchange.url),
        http_version=exchange.http_version,
        headers=exchange.headers,
        started=exchange.started,
        open_ms=open_ms,
        time_ms=lasted_ms,
        initiator=exchange.initiator,
        messages=tuple(
            Message(
                sent=sent,
                at_ms=max(0.0, (at_s - start_s) * 1000 - open_ms),
                opcode=opcode,
                data=data,
            )
            for at_s, sent, opcode, data in said
        ),
    )


def _messages(told: Any) -> Iterator[tuple[float, bool, int, str]]:
    """Yield the messages, each as its time in seconds of the Unix epoch, whether the page sent it,
    opcode, and data."""
    for message in told if isinstance(told, list) else ():
        if not isinstance(message, dict):
            continue
        at, opcode, data = (message.get(name) for name in ("time", "opcode", "data"))
        if not isinstance(at, int | float) or not math.isfinite(at) or not isinstance(data, str):
            continue
        if opcode == BINARY and not _is_base64(data):
            continue
        if opcode in (TEXT, BINARY):
            at_s = at / 1000 if at > _MILLISECONDS else float(at)
            yield at_s, message.get("type") == "send", int(opcode), _sound(data)


def _is_base64(data: str) -> bool:
    try:
        base64.b64decode(data, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _sound(text: str) -> str:
    """Return the text without lone surrogates, which UTF-8 cannot represent."""
    return text.encode(errors="replace").decode()
