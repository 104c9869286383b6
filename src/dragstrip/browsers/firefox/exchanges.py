"""Turns network events of WebDriver BiDi (W3C) into requests with times.

BiDi gives times in ms of the Unix epoch, and 0 for a phase that did not happen. Here all times
become ms since timeOrigin. BiDi numbers no connections and names no addresses.

On a fresh HTTP/1.1 connection, Firefox reports the first byte that arrives as the answer's; with
TLS 1.3 that byte belongs to the server's session ticket. Firefox does not say which connections are
fresh, so answers over TLS and HTTP/1.1 have no first byte here.

For an answer from its cache, Firefox reports HTTP/1.1. For an image that it upgraded from http to
https (mixed content), it then reports the http URL. This module restores the protocol and the URL
of the original load.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from msgspec import structs

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.exchanges import ABORTED, BROWSER_PROTOCOLS, Exchange
from dragstrip.browsers.firefox.sockets import is_socket
from dragstrip.model.answers import without_body
from dragstrip.model.visit import Request
from dragstrip.pages.format.recording import Headers

GIVEN_UP = "NS_BINDING_ABORTED"
_KINDS = {
    "document": "Document",
    "iframe": "Document",
    "frame": "Document",
    "style": "Stylesheet",
    "script": "Script",
    "image": "Image",
    "font": "Font",
    "audio": "Media",
    "video": "Media",
    "track": "TextTrack",
    "manifest": "Manifest",
    "report": "Other",
}
"""The resource types of DevTools for the destinations of Fetch (section 2.2.5)."""
_IDENTITY = ("", "identity")


def exchanges(events: Iterable[Event], time_origin_ms: float) -> tuple[Exchange, ...]:
    """Return all http(s) requests in the order the browser made them.

    `time_origin_ms` is the document's timeOrigin, ms of the Unix epoch.
    """
    found: dict[tuple[str, int], Exchange] = {}
    for event in events:
        params = event.params
        if not event.method.startswith("network."):
            continue
        asked = params["request"]
        if not asked["url"].startswith(("https:", "http:")) or is_socket(params):
            continue
        key = asked["request"], params["redirectCount"]
        if event.method == "network.beforeRequestSent":
            found[key] = _opened(params, time_origin_ms)
        elif key in found:
            found[key] = _HANDLERS[event.method](found[key], params, time_origin_ms)
    loaded = {e.request.url: e.request for e in found.values() if not e.request.from_cache}
    return tuple(_as_loaded(e, loaded) for e in found.values())


def _as_loaded(exchange: Exchange, loaded: Mapping[str, Request]) -> Exchange:
    request = exchange.request
    if not request.from_cache:
        return exchange
    upgraded = request.url.replace("http:", "https:", 1)
    first = loaded.get(request.url) or loaded.get(upgraded)
    if first is None:
        return exchange
    same = structs.replace(request, url=first.url, protocol=first.protocol)
    return structs.replace(exchange, request=same)


def _opened(params: dict[str, Any], origin_ms: float) -> Exchange:
    asked = params["request"]
    return Exchange(
        request=Request(
            url=asked["url"],
            host=urlsplit(asked["url"]).hostname or "",
            method=asked["method"],
            protocol=None,
            resource_type=_kind(asked),
            start_ms=asked["timings"]["requestTime"] - origin_ms,
        ),
        id=asked["request"],
        request_headers=_headers(asked),
    )


def _kind(asked: dict[str, Any]) -> str:
    how = {"xmlhttprequest": "XHR", "fetch": "Fetch"}.get(asked.get("initiatorType") or "")
    return how or _KINDS.get(asked.get("destination") or "", "Other")


def _answered(exchange: Exchange, params: dict[str, Any], origin_ms: float) -> Exchange:
    asked, response = params["request"], params["response"]
    request = structs.replace(
        exchange.request,
        protocol=BROWSER_PROTOCOLS.get(response["protocol"]),
        status=response["status"],
        mime=response["mimeType"].partition(";")[0],
        from_cache=response["fromCache"],
        priority=next((v for k, v in _headers(asked) if k.lower() == "priority"), ""),
        **_phases(asked["timings"], origin_ms),
    )
    if request.protocol == "h1" and request.url.startswith("https:"):
        request = structs.replace(request, response_start_ms=None)
    return structs.replace(
        exchange,
        request=request,
        request_headers=_headers(asked),
        response_headers=_headers(response),
        status_text=response["statusText"],
        http_version=response["protocol"],
    )


def _ended(exchange: Exchange, params: dict[str, Any], origin_ms: float) -> Exchange:
    exchange = _answered(exchange, params, origin_ms)
    size = int(params["response"]["bodySize"] or 0)
    coded = next((v for k, v in exchange.response_headers if k.lower() == "content-encoding"), "")
    request = structs.replace(
        exchange.request,
        end_ms=_at(params["request"]["timings"], "responseEnd", origin_ms)
        or params["timestamp"] - origin_ms,
        wire_bytes=0 if exchange.request.from_cache else size,
        body_bytes=size if coded in _IDENTITY else None,
    )
    return structs.replace(exchange, request=request)


def _failed(exchange: Exchange, params: dict[str, Any], origin_ms: float) -> Exchange:
    error = params["errorText"]
    answered = exchange.request
    if error == GIVEN_UP:
        # A frame's answer without a body came whole. Firefox keeps the frame's old document.
        whole = answered.status and without_body(answered.method, answered.status)
        error = "" if whole else ABORTED
    request = structs.replace(
        answered,
        error=error,
        end_ms=params["timestamp"] - origin_ms,
    )
    return structs.replace(exchange, request=request)


_HANDLERS = {
    "network.responseStarted": _answered,
    "network.responseCompleted": _ended,
    "network.fetchError": _failed,
}


def _phases(timings: dict[str, float], origin_ms: float) -> dict[str, float | None]:
    """Return the times of a request's phases. A request on an open connection has no handshake."""
    opened = timings["connectEnd"] > timings["connectStart"]
    return {
        "dns_start_ms": _at(timings, "dnsStart", origin_ms) if opened else None,
        "dns_end_ms": _at(timings, "dnsEnd", origin_ms) if opened else None,
        "connect_start_ms": _at(timings, "connectStart", origin_ms) if opened else None,
        "connect_end_ms": _at(timings, "connectEnd", origin_ms) if opened else None,
        "tls_start_ms": _at(timings, "tlsStart", origin_ms) if opened else None,
        "send_start_ms": _at(timings, "requestStart", origin_ms),
        "response_start_ms": _at(timings, "responseStart", origin_ms),
    }


def _at(timings: dict[str, float], name: str, origin_ms: float) -> float | None:
    return timings[name] - origin_ms if timings[name] else None


def _headers(message: dict[str, Any]) -> Headers:
    return tuple((h["name"], str(h["value"]["value"])) for h in message["headers"])
