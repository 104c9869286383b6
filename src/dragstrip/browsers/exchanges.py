"""Turns CDP Network events into requests with times.

CDP gives `timing.requestTime` in monotonic seconds, and the phases in ms relative to that, or -1
for a phase that did not happen. Here all times become ms since timeOrigin.
"""

from collections.abc import Iterable, Sequence
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct, structs

from dragstrip.browsers.cdp import Event
from dragstrip.model.answers import without_body
from dragstrip.model.chain import signer
from dragstrip.model.links import preloads
from dragstrip.model.stack import Protocol
from dragstrip.model.visit import Request
from dragstrip.pages.format.recorded_servers import certificate
from dragstrip.pages.format.recording import Certificate, Headers

ABORTED = "net::ERR_ABORTED"
_INTERNAL = "Internal Redirect"
"""Chromium's words for a redirect that no server sent."""

BROWSER_PROTOCOLS: dict[str, Protocol] = {
    "http/1.0": "h1",
    "http/1.1": "h1",
    "h2": "h2",
    "h3": "h3",
    "http/2+quic/43": "gquic",
    "spdy": "spdy",  # may be HTTP/2 in Chromium 53: see `visit.server_word`
}


class Exchange(Struct, frozen=True, kw_only=True):
    """A request, with fields that only the HAR or DevTools needs."""

    request: Request
    id: str = ""
    """DevTools' request id. A redirect shares it with the request that follows."""
    issuer: str = ""
    """Issuer of the certificate that vouched for the answer; empty if the browser did not report
    it."""
    certificate: Certificate | None = None
    """The certificate as the browser reports it; None if the browser reports none."""
    request_headers: Headers = ()
    response_headers: Headers = ()
    status_text: str = ""
    http_version: str = ""


class _Open(Struct):
    """A request under way. CDP keys it by request id, which a redirect reuses."""

    exchange: Exchange
    received: int = 0
    """Encoded bytes received so far."""
    decoded: int = 0
    """Body bytes received so far."""
    head: int = 0
    """Encoded bytes of the answer's headers."""


def exchanges(events: Iterable[Event], time_origin_s: float) -> tuple[Exchange, ...]:
    """Return all http(s) requests in the order the browser made them.

    `time_origin_s` is the document's timeOrigin on the clock of the events' timestamps.
    """
    done: list[_Open] = []
    by_id: dict[str, _Open] = {}
    hinted: set[str] = set()
    for event in events:
        params = event.params
        current = by_id.get(params.get("requestId", ""))
        if event.method == "Network.requestWillBeSent":
            if current and (redirect := params.get("redirectResponse")):
                if _by_the_browser(redirect):
                    done.remove(current)
                else:
                    _answered(current, redirect, time_origin_s)
                    _ended(current, params["timestamp"], redirect, time_origin_s)
            if params["request"]["url"].startswith(("https:", "http:")):
                by_id[params["requestId"]] = opened = _opened(params, time_origin_s)
                _note_initiator(opened, done)
                _change(opened, hinted=opened.exchange.request.url in hinted)
                done.append(opened)
        elif current and event.method == "Network.responseReceivedEarlyHints":
            said = tuple(v for k, v in _headers(params["headers"]) if k.lower() == "link")
            hinted.update(preloads(current.exchange.request.url, said))
        elif current and current.exchange.request.error:
            pass  # in a frame, events of the browser's error page follow under the same id
        elif current and (handler := _HANDLERS.get(event.method)):
            handler(current, params, time_origin_s)
    return tuple(o.exchange for o in done)


def received(exchange: Exchange) -> Request:
    """Return the request with the content encoding of its answer filled in."""
    coding = _header(exchange.response_headers, "content-encoding").strip().lower()
    return structs.replace(exchange.request, coding="" if coding == "identity" else coding)


def _opened(params: dict[str, Any], origin_s: float) -> _Open:
    request, initiator = params["request"], params.get("initiator", {})
    return _Open(
        Exchange(
            request=Request(
                url=request["url"],
                host=urlsplit(request["url"]).hostname or "",
                method=request["method"],
                protocol=None,
                resource_type=params.get("type", ""),
                priority=request.get("initialPriority", ""),
                initiator=initiator.get("url") or _script_url(initiator),
                initiator_type=initiator.get("type", ""),
                start_ms=(params["timestamp"] - origin_s) * 1000,
            ),
            id=params["requestId"],
            request_headers=_headers(request["headers"]),
        )
    )


def _by_the_browser(redirect: dict[str, Any]) -> bool:
    """Return whether the browser itself redirects the request: to https:// for a host that asked
    for it (HSTS, HTTPS records), or to the same address with the client hints that the answer asked
    for (Critical-CH). No such answer comes from the network."""
    return redirect.get("statusText") == _INTERNAL and not redirect.get("remoteIPAddress")


def _note_initiator(opened: _Open, before: Sequence[_Open]) -> None:
    """Record how many bytes of the initiator had arrived when it caused this request."""
    url = opened.exchange.request.initiator
    found = next((o for o in reversed(before) if url and o.exchange.request.url == url), None)
    if found:
        _change(opened, initiator_bytes=found.decoded)


def _script_url(initiator: dict[str, Any]) -> str:
    stack = initiator.get("stack")
    while stack:
        for frame in stack.get("callFrames", ()):
            if frame.get("url"):
                return str(frame["url"])
        stack = stack.get("parent")
    return ""


def _change(current: _Open, **changes: Any) -> None:
    request = structs.replace(current.exchange.request, **changes)
    current.exchange = structs.replace(current.exchange, request=request)


def _on_response(current: _Open, params: dict[str, Any], origin_s: float) -> None:
    _answered(current, params["response"], origin_s)


def _answered(current: _Open, response: dict[str, Any], origin_s: float) -> None:
    cached = bool(
        response.get("fromDiskCache")
        or response.get("fromPrefetchCache")
        or response.get("fromServiceWorker")
    )
    details = response.get("securityDetails") or {}
    _change(
        current,
        protocol=BROWSER_PROTOCOLS.get(response.get("protocol", "")),
        status=response["status"],
        mime=response.get("mimeType", ""),
        connection=int(response.get("connectionId", 0)),
        reused=bool(response.get("connectionReused")),
        remote_ip=response.get("remoteIPAddress", "").strip("[]"),
        remote_port=int(response.get("remotePort", 0)),
        from_cache=cached or current.exchange.request.from_cache,
        key_share=details.get("keyExchangeGroup", ""),
        ech=details.get("encryptedClientHello"),
        signed_by=signer(details.get("serverSignatureAlgorithm")),
        **_phases(response.get("timing"), origin_s),
    )
    current.exchange = structs.replace(
        current.exchange,
        response_headers=_headers(response["headers"]),
        status_text=response.get("statusText", ""),
        http_version=response.get("protocol", ""),
        issuer=details.get("issuer", ""),
        certificate=certificate(details),
    )
    current.head = max(0, int(response.get("encodedDataLength", 0)))


def _phases(timing: dict[str, Any] | None, origin_s: float) -> dict[str, float | None]:
    if not timing:
        return {}
    start_ms = (timing["requestTime"] - origin_s) * 1000

    def at(name: str) -> float | None:
        value = timing.get(name, -1)
        return start_ms + value if value >= 0 else None

    return {
        "dns_start_ms": at("dnsStart"),
        "dns_end_ms": at("dnsEnd"),
        "connect_start_ms": at("connectStart"),
        "connect_end_ms": at("connectEnd"),
        "tls_start_ms": at("sslStart"),
        "send_start_ms": at("sendStart"),
        "send_end_ms": at("sendEnd"),
        "response_start_ms": at("receiveHeadersStart") or at("receiveHeadersEnd"),
    }


def _on_cache(current: _Open, params: dict[str, Any], origin_s: float) -> None:
    _change(current, from_cache=True)


def _on_data(current: _Open, params: dict[str, Any], origin_s: float) -> None:
    current.received += params["encodedDataLength"]
    current.decoded += params["dataLength"]


def _on_finished(current: _Open, params: dict[str, Any], origin_s: float) -> None:
    if _given_up(current, params):
        came = {"encodedDataLength": current.head + current.received}
        _ended(current, params["timestamp"], came, origin_s)
        _change(current, body_bytes=None)
    else:
        _ended(current, params["timestamp"], params, origin_s)


def _given_up(current: _Open, finished: dict[str, Any]) -> bool:
    """Return whether the exchange is an image that Chromium could not decode and so did not read to
    its end. Chromium reports such an image as finished, with the decoded bytes read instead of the
    bytes on the wire (`ImageResource::DecodeError`)."""
    request, size = current.exchange.request, finished.get("encodedDataLength")
    if request.resource_type != "Image" or request.from_cache or not current.decoded:
        return False
    return size == current.decoded and size != current.head + current.received


def failure(params: dict[str, Any]) -> str:
    """Return why a request failed, from its `loadingFailed` event. Chromium 53 names no error if
    the browser itself cancelled the request."""
    named = params.get("blockedReason") or params.get("errorText")
    return named or (ABORTED if params.get("canceled") else "failed")


def _on_failed(current: _Open, params: dict[str, Any], origin_s: float) -> None:
    error = failure(params)
    request = current.exchange.request
    if error == ABORTED and request.status and without_body(request.method, request.status):
        # The answer came whole. Chromium cancels the reading of a body that there cannot be.
        _ended(current, params["timestamp"], {"encodedDataLength": current.head}, origin_s)
        return
    _change(current, error=error)
    _ended(current, params["timestamp"], {"encodedDataLength": current.received}, origin_s)


def _ended(current: _Open, timestamp: float, sizes: dict[str, Any], origin_s: float) -> None:
    wire_bytes = max(0, int(sizes.get("encodedDataLength", 0)))
    request = current.exchange.request
    # For two requests at once to one URL, the cache makes the second wait for the first's answer.
    # Chromium does not report this, but the second has no bytes and no connection.
    shared = bool(request.protocol) and not (wire_bytes or request.connection or request.error)
    _change(
        current,
        end_ms=(timestamp - origin_s) * 1000,
        wire_bytes=wire_bytes,
        body_bytes=_body_bytes(current, wire_bytes),
        from_cache=request.from_cache or shared,
    )


def _body_bytes(current: _Open, wire_bytes: int) -> int | None:
    """Return the bytes of the body. None if the browser counted none, as for a CORS preflight, or
    for a body that was never read, such as a prefetched one."""
    length = _header(current.exchange.response_headers, "content-length")
    unread = not wire_bytes or (length.isdecimal() and 0 < int(length) <= wire_bytes)
    return None if unread and not current.decoded else current.decoded


_HANDLERS = {
    "Network.requestServedFromCache": _on_cache,
    "Network.responseReceived": _on_response,
    "Network.dataReceived": _on_data,
    "Network.loadingFinished": _on_finished,
    "Network.loadingFailed": _on_failed,
}


def _headers(pairs: dict[str, str]) -> Headers:
    # CDP joins repeated headers by newlines.
    return tuple((k, v) for k, joined in pairs.items() for v in joined.split("\n"))


def _header(headers: Headers, name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")
