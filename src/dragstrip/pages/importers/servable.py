"""Checks that a browser can make a recorded request and that our origin can answer it."""

from dragstrip.pages.format.recording import TOKEN, Headers, Recorded
from dragstrip.pages.format.urls import Unservable
from dragstrip.pages.importers.har_entry import HarExchange
from dragstrip.pages.importers.limits import Limits

_MOST_METHOD = 64
"""Longest method, in characters."""
_FORBIDDEN = ("CONNECT", "TRACE", "TRACK")
"""Methods that no page may use (Fetch, section 2.2.1)."""
_MOST_HEADERS = 1_000
_MOST_HEADER_BYTES = 200_000
"""Most bytes of headers. Chromium accepts 256 KiB at most, over every protocol."""


def check_message(answer: Recorded | HarExchange, limits: Limits) -> None:
    """Raise `Unservable`, whose text says why, if the origin cannot serve an answer."""
    method = answer.method
    is_token = len(method) <= _MOST_METHOD and TOKEN.fullmatch(method)
    if not is_token or method.upper() in _FORBIDDEN:
        raise Unservable("a page cannot use its method")
    if not 200 <= answer.status <= 599:
        raise Unservable(f"status {answer.status} is not a final answer")
    if len(answer.url) > limits.max_name:
        raise Unservable(
            f"its URL has {len(answer.url)} characters, more than {limits.max_name} (--max-name)"
        )
    for headers in (answer.headers, answer.request_headers):
        _check_headers(headers)


def _check_headers(headers: Headers) -> None:
    if len(headers) > _MOST_HEADERS:
        raise Unservable(f"it has {len(headers)} headers, and a browser takes a few hundred")
    if (length := sum(len(n) + len(v) for n, v in headers)) > _MOST_HEADER_BYTES:
        raise Unservable(f"its headers have {length} bytes, more than a browser takes")
