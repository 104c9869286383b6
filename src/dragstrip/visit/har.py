"""Writes a visit as HAR 1.2, for every tool that reads HAR.

Field meanings: http://www.softwareishard.com/blog/har-12-spec. Fields that begin with an underscore
have the names that browsers' own exports use, so viewers show them.
"""

from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from dragstrip.browsers.exchanges import Exchange
from dragstrip.browsers.load import Load
from dragstrip.model.done import AT_LOAD
from dragstrip.model.visit import Request, Visit
from dragstrip.pages.format.recording import Headers
from dragstrip.version import __version__

_HTTP_VERSION = {
    "h1": "HTTP/1.1",
    "h2": "HTTP/2",
    "h3": "HTTP/3",
    "gquic": "http/2+quic/43",
    "spdy": "spdy/3.1",
}


def har(visit: Visit, load: Load, url: str, browser: str) -> dict[str, Any]:
    """Return the HAR as plain JSON types. `browser` is a string such as ``Chromium 156.0``."""
    name, _, version = browser.partition(" ")
    at_load_ms = visit.plt_ms if visit.done == AT_LOAD else None
    page = {
        "id": visit.id,
        "title": url,
        "startedDateTime": _time(load.time_origin_s, 0),
        "pageTimings": {
            "onContentLoad": _or_minus(visit.dcl_ms),
            "onLoad": _or_minus(load.navigation.loadEventEnd or at_load_ms),
        },
    }
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "dragstrip", "version": __version__},
            "browser": {"name": name, "version": version},
            "pages": [page],
            "entries": [_entry(e, visit.id, load.time_origin_s) for e in load.exchanges],
        }
    }


def _entry(exchange: Exchange, page_id: str, origin_s: float) -> dict[str, Any]:
    request = exchange.request
    timings = _timings(request)
    # The schema wants an address or no field, so a request that was never answered names no
    # connection.
    path = {"serverIPAddress": request.remote_ip, "connection": str(request.connection)}
    return {
        "pageref": page_id,
        "startedDateTime": _time(origin_s, request.start_ms),
        "time": sum(v for k, v in timings.items() if v >= 0 and k != "ssl"),
        "request": {
            "method": request.method,
            "url": request.url,
            "httpVersion": _HTTP_VERSION.get(request.protocol or "", ""),
            "cookies": [],
            "headers": _headers(exchange.request_headers),
            "queryString": [
                {"name": k, "value": v}
                for k, v in parse_qsl(urlsplit(request.url).query, keep_blank_values=True)
            ],
            "headersSize": -1,
            "bodySize": -1,
        },
        "response": {
            "status": request.status,
            "statusText": exchange.status_text,
            "httpVersion": _HTTP_VERSION.get(request.protocol or "", ""),
            "cookies": [],
            "headers": _headers(exchange.response_headers),
            "content": {"size": -1, "mimeType": request.mime},
            "redirectURL": _header(exchange.response_headers, "location"),
            "headersSize": -1,
            "bodySize": -1,
            "_transferSize": request.wire_bytes,
            "_error": request.error or None,
        },
        "cache": {},
        "timings": timings,
        **(path if request.remote_ip else {}),
        "_resourceType": request.resource_type.lower(),
        "_priority": request.priority,
        "_initiator": {"url": request.initiator, "type": request.initiator_type or "other"},
        "_fromCache": "disk" if request.from_cache else None,
    }


def _timings(request: Request) -> dict[str, float]:
    """Return phases in ms; -1 for a phase that did not happen. `connect` includes `ssl`, as HAR
    requires."""
    end = request.end_ms if request.end_ms is not None else request.start_ms
    sent = request.send_start_ms
    if sent is None or request.send_end_ms is None:
        blank = dict.fromkeys(("dns", "connect", "ssl"), -1.0)
        return {
            "blocked": 0.0,
            **blank,
            "send": 0.0,
            "wait": end - request.start_ms,
            "receive": 0.0,
        }
    first = request.response_start_ms if request.response_start_ms is not None else end
    dns = _span(request.dns_start_ms, request.dns_end_ms)
    connect = _span(request.connect_start_ms, request.connect_end_ms)
    before = sent - request.start_ms - max(dns, 0.0) - max(connect, 0.0)
    return {
        "blocked": max(before, 0.0),
        "dns": dns,
        "connect": connect,
        "ssl": _span(request.tls_start_ms, request.connect_end_ms),
        "send": request.send_end_ms - sent,
        "wait": max(first - request.send_end_ms, 0.0),
        "receive": max(end - first, 0.0),
    }


def _span(start: float | None, end: float | None) -> float:
    return -1.0 if start is None or end is None else end - start


def _time(origin_s: float, after_ms: float) -> str:
    moment = datetime.fromtimestamp(origin_s + after_ms / 1000, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _or_minus(value: float | None) -> float:
    return -1.0 if value is None else value


def _headers(headers: Headers) -> list[dict[str, str]]:
    return [{"name": k, "value": v} for k, v in headers]


def _header(headers: Headers, name: str) -> str:
    return next((v for k, v in headers if k.lower() == name), "")
