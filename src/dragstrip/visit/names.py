"""Measures how long a page waited for names, and which protocol its hosts answered first."""

from dragstrip.model.stack import MIXES, Stack
from dragstrip.model.visit import Request, Visit
from dragstrip.visit.intervals import union_ms


def lookups(visit: Visit) -> int | None:
    """Queries for the page's hosts that reached the resolver; None without a resolver."""
    if visit.names is None:
        return None
    return sum(x.host in visit.addresses for x in visit.names.lookups)


def waited_ms(visit: Visit) -> float | None:
    """Time in ms in which the browser waited for at least one name, by its own timing; None without
    a resolver."""
    if visit.names is None:
        return None
    return union_ms(
        (r.dns_start_ms, r.dns_end_ms)
        for r in visit.requests
        if r.dns_start_ms is not None and r.dns_end_ms is not None
    )


def document_ms(visit: Visit) -> float | None:
    """Time in ms that the document's name took, by the browser's timing; None without a resolver,
    and if the browser knew the name."""
    if visit.names is None:
        return None
    for r in visit.requests:
        if r.resource_type == "Document":
            return None if r.dns_start_ms is None or r.dns_end_ms is None else _took(r)
    return None


def winners(visit: Visit) -> dict[str, str]:
    """The protocol that each host of the page answered first, in order of the first requests."""
    first: dict[str, str] = {}
    for r in sorted(visit.requests, key=lambda r: r.start_ms):
        if r.protocol and not r.from_cache and r.url.startswith("https:"):
            first.setdefault(r.host, r.protocol)
    return first


def discovered_hosts(visit: Visit, network: object, stack: Stack) -> int | None:
    """Hosts whose first answer came over HTTP/3; None unless the browser has to discover it."""
    if not MIXES[stack.discovery]:
        return None
    return sum(protocol == "h3" for protocol in winners(visit).values())


def _took(request: Request) -> float:
    assert request.dns_start_ms is not None
    assert request.dns_end_ms is not None
    return request.dns_end_ms - request.dns_start_ms
