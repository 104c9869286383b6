"""Checks that hosts shared addresses as the study asks, and connections as their certificates
allow."""

from collections.abc import Collection, Iterator, Mapping
from urllib.parse import urlsplit

from dragstrip.model.addresses import Addresses, servers
from dragstrip.model.page import Page
from dragstrip.model.stack import Stack
from dragstrip.model.visit import MISDIRECTED, Reason, Visit
from dragstrip.verdict.request_checks import some

Covers = Mapping[str, tuple[str, ...]]
"""The hosts at a host's address that the host's certificate covers, the host itself included; by
host."""


def laid_out(visit: Visit, page: Page, addresses: Addresses) -> Iterator[Reason]:
    """Yield reasons if hosts do not share addresses exactly as they should."""
    wrong = []
    taken: dict[str, str] = {}
    for server in servers(page, addresses):
        addresses_seen: dict[str, str] = {}
        for host in server.hosts:
            if place := visit.addresses.get(host):
                addresses_seen.setdefault(place, host)
        if len(addresses_seen) > 1:
            one, other, *_ = addresses_seen.values()
            wrong.append(f"{one} and {other} should share one")
        for place, host in addresses_seen.items():
            if taken.setdefault(place, host) != host:
                wrong.append(f"{taken[place]} and {host} should not share one")
    if wrong:
        yield Reason("stack-drift", f"addresses are not as the study asks: {some(wrong)}")


def coalesced(visit: Visit, page: Page, stack: Stack, addresses: Addresses) -> Iterator[Reason]:
    """Yield reasons if a connection carried requests for another host although it has another
    address or the certificate does not cover it (RFC 9113 section 9.1.1, RFC 9114 section 3.3).
    Over HTTP/1.1 a connection may never do so.

    A request answered with 421 counts on the connection over which it was repeated. Live pages are
    not judged, because their certificates are unknown.
    """
    if not visit.addresses:
        return
    covers = {h: c for server in servers(page, addresses) for h, c in server.certificates.items()}
    for who, connections in (
        ("server", _by_log(visit, stack, covers)),
        ("browser", _by_browser(visit, covers)),
    ):
        wrong = [
            f"{url} over a connection to {owner}"
            for carried in connections
            for owner, url in _strangers(carried, covers)
        ]
        if wrong:
            yield Reason(
                "stack-drift",
                f"{len(wrong)} requests came over connections to other hosts, whose address or "
                f"certificate is not theirs, according to the {who}: {some(wrong)}",
            )


_Asked = list[tuple[str, str]]
"""URLs requested over a connection, with their protocols."""
_Carried = tuple[Collection[str], _Asked]
"""The hosts for which a connection may have been opened, and its requests."""


def _by_log(visit: Visit, stack: Stack, covers: Covers) -> Iterator[_Carried]:
    asked: dict[int, _Asked] = {}
    for served in visit.served:
        if served.url.startswith("https:") and served.status != MISDIRECTED:
            asked.setdefault(served.connection, []).append((served.url, served.protocol))
    # A log that has only requests does not show which name the handshake asked for.
    reports_idle = "idle" not in stack.untold
    opened = {c.id: c.host for c in visit.connections if c.host} if reports_idle else {}
    for connection, came in asked.items():
        owner = opened.get(connection)
        yield [owner] if owner else _anyone(came, covers), came


def _by_browser(visit: Visit, covers: Covers) -> Iterator[_Carried]:
    asked: dict[int, _Asked] = {}
    for request in visit.requests:
        if request.protocol and request.connection and not request.from_cache:
            asked.setdefault(request.connection, []).append((request.url, request.protocol))
    for came in asked.values():
        yield _anyone(came, covers), came


def _anyone(asked: _Asked, covers: Covers) -> Collection[str]:
    return dict.fromkeys([*(_host(url) for url, _ in asked), *covers])


def _strangers(carried: _Carried, covers: Covers) -> list[tuple[str, str]]:
    """Return pairs of owner and URL that the connection may not carry. Of the possible owners, the
    one with the fewest such URLs is taken."""
    owners, asked = carried
    strangers = [
        [(o, url) for url, protocol in asked if not _may(o, _host(url), protocol, covers)]
        for o in owners
    ]
    return min(strangers, key=len, default=[])


def _may(owner: str, host: str, protocol: str, covers: Covers) -> bool:
    return host == owner or (protocol != "h1" and host in covers.get(owner, ()))


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""
