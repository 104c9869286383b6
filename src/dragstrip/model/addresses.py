"""The servers of a page: which of its hosts share an address, and which of these hosts share a
certificate."""

from collections.abc import Mapping, Sequence
from typing import Literal
from urllib.parse import urlsplit

from msgspec import Struct

from dragstrip.model.page import Page

Addresses = Literal["recorded", "one-each"]
"""Hosts share addresses as in the page's recording (`recorded`), or each host has its own
(`one-each`)."""


_NAMED = 3
"""Most pages that a sentence names."""


class PageServer(Struct, frozen=True):
    """The server at one address."""

    certificates: Mapping[str, tuple[str, ...]]
    """The hosts that each host's certificate covers, the host itself included. The keys and each
    value are in the page's order of hosts."""

    @property
    def hosts(self) -> tuple[str, ...]:
        return tuple(self.certificates)


def servers(page: Page, addresses: Addresses) -> tuple[PageServer, ...]:
    """Return the page's servers, in the order of its hosts. A host without a recorded address has
    its own server.

    A connection may carry requests for other hosts at its address that its certificate covers (RFC
    9113 section 9.1.1, RFC 9114 section 3.3). Hosts at one address whose certificates were not
    recorded share one certificate. But hosts recorded over HTTP/1.1 share no certificate with the
    other hosts: had they shared one, browsers would have used the other hosts' connections for
    them.
    """
    recorded = page.addresses if addresses == "recorded" else {}
    groups: dict[str, list[str]] = {}
    for host in page.hosts:
        groups.setdefault(recorded.get(host, host), []).append(host)
    secure = {urlsplit(r.url).hostname for r in page.resources if r.url.startswith("https:")}
    return tuple(
        PageServer(_certificates([h for h in group if h in secure], page) | _alone(group, secure))
        for group in groups.values()
    )


def sharing(page: Page) -> bool:
    """Return whether some hosts of the page share an address in its recording."""
    return len(servers(page, "recorded")) < len(page.hosts)


def described(page: Page, addresses: Addresses) -> str:
    """Say the number of hosts and addresses in words: ``14 hosts at 3 addresses, as recorded``."""
    hosts, apart = len(page.hosts), len(servers(page, addresses))
    if apart < hosts:
        return f"{hosts} hosts at {apart} address{'es' if apart > 1 else ''}, as recorded"
    if hosts == 1:
        return "1 host"
    recorded = len(servers(page, "recorded"))
    unlike = f", not at {recorded} as recorded" if recorded < hosts else ""
    return f"{hosts} hosts at as many addresses{unlike}"


def told(pages: Sequence[Page], addresses: Addresses) -> str:
    """Return a sentence on the addresses of a study's pages; empty if no page has several hosts."""
    shared = [page for page in pages if sharing(page)]
    if not any(len(page.hosts) > 1 for page in pages):
        return ""
    if not shared:
        return "Each host has its own address."
    more = f" and {len(shared) - _NAMED} more" if len(shared) > _NAMED else ""
    if addresses == "one-each":
        names = ", ".join(page.name for page in shared[:_NAMED])
        return f"Each host has its own address, although hosts of {names}{more} shared some."
    said = (f"{page.name} has {described(page, addresses)}" for page in shared[:_NAMED])
    rest = "; on other pages each host has its own" if len(shared) < len(pages) else ""
    counts = ", ".join(one.removesuffix(", as recorded") for one in said)
    return f"Hosts share addresses as recorded: {counts}{more}{rest}."


def _alone(group: list[str], secure: set[str | None]) -> dict[str, tuple[str, ...]]:
    """Give each host that uses only http:// a certificate for itself: such hosts have none to
    share."""
    return {host: (host,) for host in group if host not in secure}


def _certificates(hosts: list[str], page: Page) -> dict[str, tuple[str, ...]]:
    covered = {h: {*page.certificates[h], h} for h in hosts if h in page.certificates}
    untold = [h for h in hosts if h not in covered]
    # If a known certificate covers a host, that certificate most likely was the host's own.
    covering = {h: next((c for c in covered.values() if h in c), None) for h in untold}
    rest = {h for h in untold if covering[h] is None}
    plain = {h for h in hosts if page.spoken.get(h) == "h1"}

    def names(host: str) -> tuple[str, ...]:
        all_names = covered.get(host) or covering[host] or rest
        alike = [h for h in hosts if (h in plain) == (host in plain)]
        return tuple(h for h in alike if h in all_names)

    return {host: names(host) for host in hosts}
