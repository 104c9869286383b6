"""Drops requests that a server logged after a visit was over: a browser that closes a tab may send
reports, or repeat a request over another protocol."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from msgspec import structs

from dragstrip.model.visit import Request, Served
from dragstrip.testbed.servers.origin import OriginLog


def without_afterwards(log: OriginLog, requests: Iterable[Request], over_us: float) -> OriginLog:
    """Return the log without requests that began after the visit was over (Unix time, us).

    A later request is kept if it is one of the browser's `requests` that had not reached the server
    yet. A connection is kept if it was opened in time or carried a kept request.
    """
    kept = tuple(_kept(log.requests, requests, over_us))
    carried = {s.connection for s in kept}
    connections = (c for c in log.connections if c.t_us <= over_us or c.id in carried)
    return structs.replace(log, requests=kept, connections=tuple(connections))


def _kept(log: Sequence[Served], requests: Iterable[Request], over_us: float) -> Iterator[Served]:
    left = Counter((r.method, r.url) for r in requests)
    in_time = [s.t_us <= over_us for s in log]
    left -= Counter((s.method, s.url) for s, kept in zip(log, in_time, strict=True) if kept)
    for served, kept in zip(log, in_time, strict=True):
        late = not kept and left[served.method, served.url] > 0
        left[served.method, served.url] -= late
        if kept or late:
            yield served
