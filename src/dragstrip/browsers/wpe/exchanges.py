"""Turns the Network events of WebKit's Web Inspector into those of DevTools, which
`dragstrip.browsers.exchanges` reads.

WebKit says only at a request's end which protocol, connection and address it used, and how many
bytes came. It names no such thing for a request that failed. Phases of a request count in ms from
its fetchStart, and are 0 or negative if they did not happen.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dragstrip.browsers.cdp import Event
from dragstrip.browsers.exchanges import ABORTED

_ERRORS = {
    "Error resolving": "net::ERR_NAME_NOT_RESOLVED",
    "Unacceptable TLS certificate": "net::ERR_CERT_AUTHORITY_INVALID",
    "Connection refused": "net::ERR_CONNECTION_REFUSED",
    "Connection reset": "net::ERR_CONNECTION_RESET",
    "Connection terminated": "net::ERR_CONNECTION_CLOSED",
    "timed out": "net::ERR_TIMED_OUT",
}
"""Chromium's names of errors that the verdict knows, by a part of WebKit's sentences."""
_CACHES = ("memory-cache", "disk-cache")
_KINDS = {"StyleSheet": "Stylesheet", "Ping": "Ping", "Beacon": "Ping"}
"""DevTools' names of resource types, where WebKit has others."""
_PHASES = {
    "dnsStart": "domainLookupStart",
    "dnsEnd": "domainLookupEnd",
    "connectStart": "connectStart",
    "connectEnd": "connectEnd",
    "sslStart": "secureConnectionStart",
    "sendStart": "requestStart",
    "receiveHeadersStart": "responseStart",
}
_OF_A_CONNECTION = ("dnsStart", "dnsEnd", "connectStart", "connectEnd", "sslStart")


def as_devtools(events: Iterable[Event]) -> Iterator[Event]:
    """Yield the events in DevTools' dialect. `events` are all of a load."""
    every = [event for event in events if event.method.startswith("Network.")]
    metrics = {
        event.params["requestId"]: event.params.get("metrics", {})
        for event in every
        if event.method == "Network.loadingFinished"
    }
    opened: set[str] = set()
    """Connections that an earlier request of the load has used."""
    for event in every:
        params = event.params
        told = metrics.get(params.get("requestId", ""), {})
        yield Event(event.method, _translated(event.method, params, told, opened), event.session)


def _translated(
    method: str, params: dict[str, Any], told: Mapping[str, Any], opened: set[str]
) -> dict[str, Any]:
    match method:
        case "Network.requestWillBeSent":
            found = {**params, "type": _kind(params)}
            if redirect := params.get("redirectResponse"):
                ended = redirect.get("networkLoadMetrics", {})
                found["redirectResponse"] = _response(redirect, ended, opened)
            return found
        case "Network.responseReceived":
            response = _response(params["response"], told, opened)
            return {**params, "type": _kind(params), "response": response}
        case "Network.dataReceived":
            return {**params, "encodedDataLength": max(0, params.get("encodedDataLength", 0))}
        case "Network.loadingFinished":
            return {**params, "encodedDataLength": _wire_bytes(told)}
        case "Network.loadingFailed":
            return {**params, "errorText": error_of(params)}
    return params


def error_of(params: Mapping[str, Any]) -> str:
    """Return why a request failed, in Chromium's words where it has some."""
    said = str(params.get("errorText", ""))
    if params.get("canceled"):
        return ABORTED
    return next((name for part, name in _ERRORS.items() if part in said), said)


def _kind(params: Mapping[str, Any]) -> str:
    named = str(params.get("type", "Other"))
    return _KINDS.get(named, named)


def _response(
    response: Mapping[str, Any], told: Mapping[str, Any], opened: set[str]
) -> dict[str, Any]:
    connection = str(told.get("connectionIdentifier", ""))
    reused = connection in opened
    opened.add(connection)
    address, _, port = str(told.get("remoteAddress", "")).rpartition(":")
    timing = response.get("timing")
    return {
        **response,
        "protocol": told.get("protocol", ""),
        "connectionId": int(connection) if connection.isdecimal() else 0,
        "connectionReused": reused,
        "remoteIPAddress": address,
        "remotePort": int(port) if port.isdecimal() else 0,
        "fromDiskCache": response.get("source") in _CACHES,
        "encodedDataLength": int(told.get("responseHeaderBytesReceived", 0)),
        "timing": timing and _timing(timing),
    }


def _timing(timing: Mapping[str, float]) -> dict[str, float]:
    """Return DevTools' timing: ms since `requestTime`, which is in s."""
    fresh = timing["connectEnd"] > timing["connectStart"] > 0
    found = {"requestTime": timing["fetchStart"]}
    for name, webkits in _PHASES.items():
        happened = timing.get(webkits, 0) > 0 and (fresh or name not in _OF_A_CONNECTION)
        found[name] = timing[webkits] if happened else -1
    return found


def _wire_bytes(told: Mapping[str, Any]) -> int:
    heads, body = told.get("responseHeaderBytesReceived", 0), told.get("responseBodyBytesReceived")
    return int(heads) + int(body or 0)
