"""What a visit uploaded, and how long that took."""

from collections.abc import Sequence
from urllib.parse import urldefrag

from msgspec import Struct

from dragstrip.model.visit import Served, Visit
from dragstrip.visit.intervals import union_ms

_WITH_BODY = frozenset({"POST", "PUT", "PATCH"})


class Upload(Struct, frozen=True):
    """A request whose body reached the origin whole. Times as in `Request`."""

    url: str
    bytes: int
    start_ms: float
    """First byte of the request sent."""
    received_ms: float
    """Last byte of the body received, by the origin's clock."""


def uploads(visit: Visit) -> list[Upload]:
    """Uploads in the browser's order; none if the server does not say what it received."""
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
    """Bytes of all bodies that reached the origin whole; None if the server does not say."""
    sizes = [s.received_bytes for s in visit.served if s.received_bytes is not None]
    return sum(sizes) if sizes else None


def upload_ms(visit: Visit) -> float | None:
    """Time with an upload under way, from the first byte sent until the origin had the last one.
    None without an upload."""
    found = uploads(visit)
    return union_ms((u.start_ms, u.received_ms) for u in found) if found else None


def upload_mbps(visit: Visit) -> float | None:
    """Bytes of the bodies over that time."""
    took_ms = upload_ms(visit)
    return sum(u.bytes for u in uploads(visit)) * 8 / took_ms / 1000 if took_ms else None


def handed_over_ms(visit: Visit) -> list[float]:
    """Times from the first byte sent of each request that may have a body until the browser's
    transport had taken the last one. Kernel or QUIC may hold a part of it then."""
    return [
        r.send_end_ms - r.send_start_ms
        for r in visit.requests
        if r.method in _WITH_BODY and r.send_start_ms is not None and r.send_end_ms is not None
    ]


def uploaded_by(found: Sequence[Upload], end_ms: float) -> int:
    """Uploaded bytes that the origin had at `end_ms`."""
    return sum(u.bytes for u in found if u.received_ms <= end_ms)
