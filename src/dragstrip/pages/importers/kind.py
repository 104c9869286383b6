"""Determines the kind of resource of a HAR's entry."""

import re

from dragstrip.pages.format.recording import header
from dragstrip.pages.format.structure import ResourceKind
from dragstrip.pages.importers.har_entry import HarExchange

_TYPES: dict[str, ResourceKind] = {
    "document": "document",
    "iframe": "document",
    "frame": "document",
    "stylesheet": "style",
    "style": "style",
    "script": "script",
    "image": "image",
    "font": "font",
    "xhr": "fetch",
    "fetch": "fetch",
    "empty": "fetch",
    "ping": "fetch",
    "media": "fetch",
    "video": "fetch",
    "audio": "fetch",
}
"""Our kinds, by Chromium's resource types and by values of Sec-Fetch-Dest."""
_ACCEPTS: tuple[tuple[str, ResourceKind], ...] = (
    ("text/html", "document"),
    ("text/css", "style"),
    ("image/", "image"),
)
_MIMES: tuple[tuple[str, ResourceKind], ...] = (
    ("text/css", "style"),
    ("image/", "image"),
    ("font", "font"),
    ("html", "document"),
    ("javascript", "script"),
    ("ecmascript", "script"),
)
_FONT_URL = re.compile(r"\.(woff2?|ttf|otf|eot)$", re.IGNORECASE)


def kind_of(exchange: HarExchange) -> ResourceKind:
    """Return the kind of resource that the browser reports, else that of its Accept header, else
    that of the answer."""
    if exchange.method != "GET":
        return "fetch"
    said = exchange.resource_type or header(exchange.request_headers, "sec-fetch-dest").lower()
    if kind := _TYPES.get(said):
        return kind
    accept = header(exchange.request_headers, "accept").lower()
    for start, kind in _ACCEPTS:
        if accept.startswith(start):
            return kind
    if _FONT_URL.search(exchange.url.partition("?")[0]):
        return "font"
    for part, kind in _MIMES:
        if part in exchange.mime:
            # Browsers load scripts, and whatever scripts fetch, with Accept: */*.
            return "fetch" if kind == "document" and accept.startswith("*/*") else kind
    return "fetch"
