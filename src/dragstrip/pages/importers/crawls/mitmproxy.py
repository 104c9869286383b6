"""Reads the flow files that mitmproxy saves (`mitmdump -w`)."""

import math
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from dragstrip.pages.format.recording import EPOCH, Headers, PageError, Recorded, header
from dragstrip.pages.format.spool import Spool, SpooledExchange
from dragstrip.pages.importers.contents import Contents
from dragstrip.pages.importers.crawls.navigations import navigations
from dragstrip.pages.importers.crawls.tnetstrings import Malformed, values
from dragstrip.pages.importers.limits import DEFAULT, Beyond, Limits, Meter
from dragstrip.pages.importers.plain import plain_file
from dragstrip.pages.importers.sentences import Notes

ENDINGS = (".mitm", ".flow", ".flows")
_PORTS = {"https": 443, "http": 80}


class _Request(Struct):
    method: bytes
    scheme: bytes
    host: str
    port: int
    path: bytes
    http_version: bytes
    headers: Sequence[tuple[bytes, bytes]]
    timestamp_start: float
    authority: bytes = b""
    content: bytes | None = None


class _Response(Struct):
    status_code: int
    reason: bytes
    http_version: bytes
    headers: Sequence[tuple[bytes, bytes]]
    content: bytes | None = None
    timestamp_end: float | None = None


class _Server(Struct):
    peername: list[Any] | None = None


class _Flow(Struct):
    """The parts of mitmproxy's `HTTPFlow.get_state` that a page needs."""

    request: _Request
    response: _Response | None = None
    server_conn: _Server | None = None


def read_flows(path: Path, limits: Limits = DEFAULT) -> Contents:
    """Return the content of a mitmproxy flow file. Raises `PageError`."""
    meter, notes, spool = Meter(limits), Notes(), Spool()
    exchanges: list[Recorded] = []
    try:
        with plain_file(path) as file:
            most = min(limits.max_bytes, os.fstat(file.fileno()).st_size)
            for number, state in enumerate(values(file, most, limits.max_depth), 1):
                meter.record()
                if not isinstance(state, dict) or state.get("type") not in ("http", b"http"):
                    notes.add("flows left out, because they are not of HTTP", f"flow {number}")
                elif answer := _answer(state, number, notes, spool, meter):
                    exchanges.append(answer)
    except Beyond as error:
        raise PageError(f"{path}: {error}") from None
    except (Malformed, msgspec.ValidationError) as error:
        raise PageError(
            f"{path} is no complete file of flows of mitmproxy 7 or newer: {error}; save it again"
        ) from None
    exchanges.sort(key=lambda x: x.started)
    return Contents(
        source="flows of mitmproxy",
        exchanges=exchanges,
        navigations=navigations(exchanges, (), [""] * len(exchanges)),
        changes=tuple(notes.sentences()),
    )


def _answer(
    state: dict[str, object], number: int, notes: Notes, spool: Spool, meter: Meter
) -> Recorded | None:
    flow = msgspec.convert(state, _Flow, strict=False)
    request, response = flow.request, flow.response
    url = _url(request)
    if response is None or response.content is None:
        notes.add("flows left out, because their answer or its body is missing", url)
        return None
    meter.unpacked(len(response.content))
    began, ended = request.timestamp_start, response.timestamp_end
    peer = flow.server_conn.peername if flow.server_conn else None
    return SpooledExchange(
        url=url,
        method=request.method.decode("latin-1"),
        status=response.status_code,
        status_text=response.reason.decode("latin-1"),
        http_version=response.http_version.decode("latin-1"),
        headers=_headers(response.headers),
        request_headers=_headers(request.headers),
        upload_bytes=len(request.content or b""),
        started=_moment(began),
        time_ms=max(0.0, ended - began) * 1000 if ended and math.isfinite(ended - began) else 0.0,
        server_ip=str(peer[0]) if peer else "",
        load=spool.keep(response.content),
    )


def _url(request: _Request) -> str:
    scheme = request.scheme.decode("latin-1").lower()
    name = request.authority or header(_headers(request.headers), "host").encode()
    port = "" if request.port == _PORTS.get(scheme) else f":{request.port}"
    host = name.decode("latin-1") or f"{request.host}{port}"
    return f"{scheme}://{host}{request.path.decode('latin-1')}"


def _headers(pairs: Sequence[tuple[bytes, bytes]]) -> Headers:
    return tuple((n.decode("latin-1"), v.decode("latin-1")) for n, v in pairs)


def _moment(seconds: float) -> datetime:
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, ValueError, OSError):
        return EPOCH
