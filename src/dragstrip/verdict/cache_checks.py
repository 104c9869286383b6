"""Checks that every answer was sent over the wire during this visit. Only visits that keep the
cache may use cached answers.

A browser that preloads the links of a 103 answer (Early Hints, RFC 8297) puts the answers into its
cache, and later reports that they came from the cache. So the server's log decides, and not the
browser's flag: an answer from the cache is right if the server sent it during the visit, before its
use.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import urldefrag

from dragstrip.model.family import address_in
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Reason, Request, Visit
from dragstrip.verdict.request_checks import some

_NOT_MODIFIED = 304


def cold(visit: Visit, page: Page, stack: Stack) -> Iterator[Reason]:
    """Yield reasons for answers from a cache that was filled before the visit."""
    if visit.connection == "repeat-cached":
        return
    logged = not (page.live or "requests" in stack.untold)
    sent_us = _sent_us(visit)
    fetched: set[str] = set()
    stale: list[str] = []
    for request in visit.requests:
        url = urldefrag(request.url).url
        came = url in fetched or (
            _in_time(visit, request, sent_us) if logged else _hinted(visit, page, request)
        )
        if request.from_cache and not came:
            stale.append(request.url)
        fetched.add(url)
    if stale:
        yield Reason("warm", f"{len(stale)} answers came from a cache: {some(stale)}")


def _sent_us(visit: Visit) -> Mapping[tuple[str, str], int]:
    """Return when the server first got a request for each answer that it then sent completely, by
    method and URL."""
    times: dict[tuple[str, str], int] = {}
    for served in visit.served:
        key = served.method, served.url
        if served.end_us and served.status != _NOT_MODIFIED:
            times[key] = min(times.get(key, served.t_us), served.t_us)
    return times


def _in_time(visit: Visit, request: Request, sent_us: Mapping[tuple[str, str], int]) -> bool:
    asked_us = sent_us.get((request.method, urldefrag(request.url).url))
    used_ms = float("inf") if request.end_ms is None else request.end_ms
    return asked_us is not None and (asked_us - visit.started_us) / 1000 < used_ms


def _hinted(visit: Visit, page: Page, request: Request) -> bool:
    """Return whether a 103 answer named the request, judged without a server's log: more bytes
    crossed the link from its host than the browser reports, by at least the answer's size."""
    host = address_in(visit.addresses.get(request.host, ""))
    ends = visit.link.down.far_ends if visit.link else None
    if not request.hinted or ends is None:
        return False
    crossed = sum(e.bytes for e in ends if not host or e.address == host)
    same = [r for r in visit.requests if not host or _address(visit, r) == host]
    hidden = sum(_size(page, r) for r in same if r.from_cache and r.hinted)
    return crossed >= sum(r.wire_bytes for r in same) + hidden


def _address(visit: Visit, request: Request) -> str:
    return request.remote_ip or address_in(visit.addresses.get(request.host, ""))


def _size(page: Page, request: Request) -> int:
    """Return the least bytes of the answer's body on the wire; 0 if neither the page nor the body's
    coding shows them."""
    sizes = [r.body_bytes for r in page.resources if r.url == request.url]
    return 0 if request.coding else min(sizes, default=0)
