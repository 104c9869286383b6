"""Knows how each tool writes an entry of a HAR, and which of its fields can be trusted.

The module follows the exporters of Chrome, Firefox, Safari, Charles, Fiddler, Insomnia,
WebPageTest, chrome-har (browsertime, Puppeteer), Playwright and mitmproxy. In doubt the capture is
favoured: an answer that may not have crossed the network in time is not counted against it.
"""

from typing import Literal

from dragstrip.pages.importers.har_json import Part

Family = Literal["h1", "spdy", "h2", "quic", ""]
"""Protocol of an answer: HTTP/1.x, SPDY or HTTP/2 over TCP, ``quic`` for HTTP/3 or Google's QUIC,
or "" if the capture does not say."""

_FLAGS = (
    "fromCache",  # Chrome: "disk", "memory"
    "fromDiskCache",
    "fromMemoryCache",
    "fromPrefetchCache",
    "fromServiceWorker",
    "fetchedViaServiceWorker",  # Chrome: the worker's own request is a separate entry
    "wasFulfilled",  # Playwright: a route handler gave the answer
)
_UNSENT_FLAGS = (*_FLAGS, *(f"_{flag}" for flag in _FLAGS))
_FALSE = ("", "0", "false", "none", "no", "network")
_UNSENT_TYPES = ("cache", "worker", "override")
"""Safari's `_fetchType` of requests that were not sent: Memory Cache, Disk Cache, Service Worker,
Inspector Override."""
_PHASES = ("blocked", "dns", "connect", "send", "wait", "receive")
"""Phases of ``timings``. ``ssl`` is part of ``connect``."""


def family(http_version: str) -> Family:
    """Return the protocol of an HTTP version: ``http/2+quic/46``, ``h3-29`` -> quic; ``HTTP/1.1``,
    ``1.1`` -> h1; ``unknown`` -> ""."""
    text = http_version.lower()
    if "quic" in text or text.startswith(("h3", "http/3", "hq")):
        return "quic"
    if "spdy" in text:
        return "spdy"
    if text.startswith(("h2", "http/2")):
        return "h2"
    return "h1" if text.removeprefix("http/").startswith("1.") else ""


def spoken(entry: Part) -> Family:
    """Return the protocol of an entry: from the answer's version, else WebPageTest's field, else
    the request's version."""
    said = (
        entry.part("response").text("httpVersion"),
        entry.text("_protocol"),
        entry.part("request").text("httpVersion"),
    )
    return next((f for text in said if (f := family(text))), "")


def wire_bytes(entry: Part) -> int | None:
    """Return the bytes of the answer on the wire, with headers as far as their size is known; None
    if the tool does not say.

    Chromium's tools write `_transferSize`, WebPageTest `_bytesIn`, others header and body. A
    negative size means that the tool does not know it.
    """
    if from_cache(entry):
        return 0  # Safari writes the size it once had
    size = _written(entry)
    return 0 if size is None and failed(entry) else size


def _written(entry: Part) -> int | None:
    response = entry.part("response")
    for written in (response.number("_transferSize"), entry.number("_bytesIn")):
        if written is not None and written >= 0:
            return round(written)
    body, headers = response.number("bodySize"), response.number("headersSize")
    return round(body + max(0.0, headers or 0.0)) if body is not None and body >= 0 else None


def end_ms(entry: Part, start_ms: float) -> float:
    """Return the end of the entry, in ms: the later of ``time`` and the sum of the phases, because
    some tools leave waits out of one of the two."""
    timings = entry.part("timings")
    phases = sum(max(0.0, timings.number(p) or 0.0) for p in _PHASES)
    return start_ms + max(entry.number("time") or 0.0, phases)


def connect_ms(entry: Part) -> float | None:
    """Return the time to connect, in ms; None if the entry opened no connection. HAR's ``connect``
    includes ``ssl``. Firefox, Charles and mitmproxy leave ``ssl`` out, but a connect takes at least
    one round trip either way."""
    connect = entry.part("timings").number("connect")
    return connect if connect is not None and connect > 0 else None


def from_cache(entry: Part) -> bool:
    """Return whether no answer crossed the network for this entry.

    Firefox and chrome-har write HAR's ``cache`` only for hits; other tools write it for any answer
    that may be cached. So ``cache`` is ignored if the answer has bytes on the wire.
    """
    response = entry.part("response")
    if any(_is_true(part.value(flag)) for part in (entry, response) for flag in _UNSENT_FLAGS):
        return True
    if any(word in entry.text("_fetchType").lower() for word in _UNSENT_TYPES):
        return True
    size = _written(entry)
    if response.number("status") != 200 or size:
        return False
    cache = entry.part("cache")
    hit = cache.value("beforeRequest") is not None or "afterRequest" in cache
    decoded = response.part("content").number("size") or 0
    return hit or (size == 0 and decoded > 0)


def failed(entry: Part) -> bool:
    """Return whether the answer is missing or incomplete, by Chrome's `_error`, Playwright's
    `_failureText`, Charles's `_charlesStatus`, or a status that is 0, -1 or absent."""
    response = entry.part("response")
    broken = response.text("_error", "_failureText") or entry.text("_error")
    charles = response.text("_charlesStatus").lower()
    aborted = _is_true(entry.value("_wasAborted"))
    unanswered = (response.number("status") or 0) <= 0
    return bool(unanswered or broken or aborted or charles not in ("", "complete"))


def _is_true(value: object) -> bool:
    return bool(value) and str(value).lower() not in _FALSE
