"""Lists the uploads of a visit, and measures how long they took."""

from collections.abc import Sequence
from urllib.parse import urldefrag

from msgspec import Struct

from dragstrip.model.visit import Served, Visit
from dragstrip.visit.intervals import union_ms

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class Upload(Struct, frozen=True):
    """A request whose complete body reached the origin. Times count as in `Request`."""

    url: str
    bytes: int
    start_ms: float
    """When the first byte of the request was sent."""
    received_ms: float
    """When the last byte of the body was received, by the origin's clock."""


def uploads(visit: Visit) -> list[Upload]:
    """Return the uploads in the browser's order; empty if the server does not report what it
    received."""
    told: dict[tuple[str, str], list[Served]] = {}
    for served in visit.served:
        if served.received_us and served.received_bytes:
            told.setdefault((served.method, served.url), []).append(served)
    complete = []
    for request in visit.requests:
        left = told.get((request.method, urldefrag(request.url).url))
        if left and request.send_start_ms is not None:
            served = left.pop(0)
            received_ms = ((served.received_us or 0) - visit.started_us) / 1000
            size = served.received_bytes or 0
            complete.append(Upload(request.url, size, request.send_start_ms, received_ms))
    return complete


def uploaded_bytes(visit: Visit) -> int | None:
    """Return the bytes of all bodies that reached the origin completely; None if the server does
    not report them."""
    sizes = [s.received_bytes for s in visit.served if s.received_bytes is not None]
    return sum(sizes) if sizes else None


def upload_ms(visit: Visit) -> float | None:
    """Return the time in ms with an upload under way, from the first byte sent until the origin had
    the last byte. None without an upload."""
    found = uploads(visit)
    return union_ms((u.start_ms, u.received_ms) for u in found) if found else None


def upload_mbps(visit: Visit) -> float | None:
    """Return the rate of the uploads in Mbit/s: the bytes of their bodies over `upload_ms`."""
    took_ms = upload_ms(visit)
    return sum(u.bytes for u in uploads(visit)) * 8 / took_ms / 1000 if took_ms else None


def handed_over_ms(visit: Visit) -> list[float]:
    """Return a time in ms for each request that may have a body: from the request's first byte sent
    until the browser's transport had taken the last byte. The kernel or QUIC may still hold a part
    of the body then."""
    return [
        r.send_end_ms - r.send_start_ms
        for r in visit.requests
        if r.method in _WITH_BODY and r.send_start_ms is not None and r.send_end_ms is not None
    ]


def uploaded_by(found: Sequence[Upload], end_ms: float) -> int:
    """Return the uploaded bytes that the origin had received at `end_ms`."""
    return sum(u.bytes for u in found if u.received_ms <= end_ms)
