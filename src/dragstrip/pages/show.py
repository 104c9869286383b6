"""Counts a page by host, type and status, for `dragstrip page show`."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct

from dragstrip.model.addresses import described, servers
from dragstrip.model.page import Page, Resource


class PageShare(Struct, frozen=True):
    """A part of the page, such as a host or a type. `wire_bytes` counts bodies with their content
    encoding, without headers."""

    name: str
    objects: int
    wire_bytes: int


class PageSummary(Struct, frozen=True, kw_only=True):
    name: str
    path: Path
    digest: str
    url: str
    source: str
    objects: int
    wire_bytes: int
    hosts: tuple[PageShare, ...]
    """Hosts in the order of the recording, the document's host first."""
    addresses: str
    """Sentence on the number of the hosts' addresses and on their certificates."""
    types: tuple[PageShare, ...]
    """Media types, most bytes first; ``none`` stands for answers without a type."""
    statuses: tuple[PageShare, ...]
    """Status codes, ascending."""
    sockets: int
    """Number of WebSockets."""
    changes: tuple[str, ...]


def summarise(page: Page) -> PageSummary:
    order = {host: place for place, host in enumerate(page.hosts)}
    return PageSummary(
        name=page.name,
        path=page.path,
        digest=page.digest,
        url=page.url,
        source=page.source,
        objects=len(page.resources),
        wire_bytes=page.body_bytes,
        hosts=tuple(sorted(_shares(page, lambda r: r.host), key=lambda s: order[s.name])),
        addresses=described(page, "recorded") + _certificates(page),
        types=tuple(sorted(_shares(page, lambda r: r.mime or "none"), key=lambda s: -s.wire_bytes)),
        statuses=tuple(sorted(_shares(page, lambda r: str(r.status)), key=lambda s: s.name)),
        sockets=len(page.sockets),
        changes=page.changes,
    )


def _certificates(page: Page) -> str:
    """Return a sentence on how the certificates of hosts at one address are known; empty if there
    are no such hosts."""
    shared = {h for s in servers(page, "recorded") if len(s.hosts) > 1 for h in s.hosts}
    untold = shared - set(page.certificates)
    if not shared:
        return ""
    if not untold:
        return "; certificates as recorded"
    some = f" for {len(shared - untold)} of them" if untold < shared else ""
    return (
        f"; the recording tells {'certificates' if some else 'no certificates'}{some}, so all "
        f"{'others' if some else 'hosts'} of an address share one"
    )


def _shares(page: Page, key: Callable[[Resource], str]) -> list[PageShare]:
    objects = Counter(key(r) for r in page.resources)
    wire_bytes: Counter[str] = Counter()
    for resource in page.resources:
        wire_bytes[key(resource)] += resource.body_bytes
    return [PageShare(name, count, wire_bytes[name]) for name, count in objects.items()]
