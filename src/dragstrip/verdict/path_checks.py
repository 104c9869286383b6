"""Checks that every byte came from the testbed's own servers, through the link.

The browser reports which address answered each request; the link reports what each address and port
carried.
"""

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from ipaddress import ip_address
from urllib.parse import urlsplit

from dragstrip.model.family import address_in, family_of, place, port_in
from dragstrip.model.lookups import NameLookup
from dragstrip.model.names import nowhere
from dragstrip.model.network import Network
from dragstrip.model.visit import FarEnd, Reason, Request, Visit
from dragstrip.verdict.request_checks import some

_NAME_PORTS = frozenset({53, 853})
"""Ports of DNS (RFC 1035) and of DNS over TLS (RFC 7858)."""
_HTTP = 80


def origin(visit: Visit, network: Network) -> Iterator[Reason]:
    """Yield reasons if an answer came from another address than the one where the testbed serves
    its host, or from another port than its URL names, or if packets went elsewhere.

    A page may use any port of its hosts. At ports that the recording lacks, no server answers.
    """
    if not visit.addresses:
        return
    foreign = [
        f"{r.url} by {place(r.remote_ip, r.remote_port or 0)}"
        for r in _answered(visit)
        if r.remote_ip and not _at_home(visit, r)
    ]
    if foreign:
        yield Reason(
            "stack-drift",
            f"{len(foreign)} answers came from addresses that are not their hosts': "
            + some(foreign),
        )
    asked = _asked(visit)
    dark = _nowhere(visit, network)
    every = (end for end in _far_ends(visit) if end.address not in dark)
    elsewhere = [end for end in every if not _ours(visit, end, asked)]
    names = [end for end in elsewhere if end.port in _NAME_PORTS]
    for ends, what in (
        (names, "names were looked up outside the testbed"),
        ([end for end in elsewhere if end not in names], "packets went elsewhere, or came from it"),
    ):
        if ends:
            places = (f"{place(end.address, end.port)} ({end.transport})" for end in ends)
            yield Reason("stack-drift", f"{what}: {some(places)}")


def crossed(visit: Visit) -> Iterator[Reason]:
    """Yield reasons if a server's requests and answers did not cross the link. This is checked per
    host, because a detour of one host is a small part of the total."""
    if visit.link is None or visit.link.down.far_ends is None or not visit.addresses:
        return
    down = _bytes(visit.link.down.far_ends)
    up = _bytes(visit.link.up.far_ends or ())
    received: Counter[str] = Counter()
    for request in _answered(visit):
        received[request.remote_ip or _address(visit, request.host)] += request.wire_bytes
    short = [
        f"{address} ({down[address]} of {n} bytes)"
        for address, n in received.items()
        if address and n > down[address]
    ]
    if short:
        yield Reason("link-drift", f"less crossed the link than was received from {some(short)}")
    unasked = [address for address in received if address and not up[address]]
    if unasked:
        yield Reason("link-drift", f"nothing crossed the link to {some(unasked)}, which answered")


def one_family(visit: Visit, network: Network) -> Iterator[Reason]:
    """Yield reasons if an answer, a connection or a packet used another address family than the
    network's. The testbed serves a page at addresses of one family alone, so this shows a client
    that falls back to the other family, and a server that listens on it."""
    if not visit.addresses:
        return
    dark = _nowhere(visit, network)
    ends = (end.address for end in _far_ends(visit))
    seen = {
        "hosts were served at": (address_in(home) for home in visit.addresses.values()),
        "answers came from": (r.remote_ip for r in _answered(visit)),
        "connections were accepted at": (c.address or "" for c in visit.connections),
        "packets crossed the link to or from": (a for a in ends if a not in dark),
    }
    for what, addresses in seen.items():
        other = sorted({a for a in addresses if a and family_of(a) != network.family})
        if other:
            yield Reason(
                "stack-drift", f"the network is IPv{network.family}, but {what} {some(other)}"
            )


def nothing_there(visit: Visit, network: Network) -> Iterator[Reason]:
    """Reasons if IPv6 that was to be broken was not: something answered there, or a name lacked the
    address when the browser asked for it. A browser that never tries IPv6 may do so."""
    if not network.broken_ipv6:
        return
    dark = _nowhere(visit, network)
    answered = [
        place(end.address, end.port)
        for end in (visit.link.down.far_ends or () if visit.link else ())
        if end.address in dark and end.packets
    ]
    if answered:
        yield Reason("link-drift", f"IPv6 is broken, but packets came from {some(answered)}")
    lookups = visit.names.lookups if visit.names else ()
    bare = [x.name for x in lookups if _lacks(x, visit.addresses)]
    if bare:
        yield Reason(
            "stack-drift", f"names have no IPv6 address: {some(list(dict.fromkeys(bare)))}"
        )


def _lacks(lookup: NameLookup, hosts: Container[str]) -> bool:
    return lookup.name in hosts and lookup.kind == "AAAA" and not lookup.answers


def _nowhere(visit: Visit, network: Network) -> set[str]:
    """Return the IPv6 addresses of the hosts, if they lead nowhere."""
    if not network.broken_ipv6:
        return set()
    return {nowhere(address_in(home)) for home in visit.addresses.values()}


def vouched(visit: Visit) -> Iterator[Reason]:
    """Yield reasons for certificates that were not issued by the testbed's own CA."""
    strangers = [
        f"{issuer} ({url})" for issuer, url in visit.issuers.items() if issuer != visit.authority
    ]
    if visit.authority and strangers:
        yield Reason("stack-drift", f"certificates come from another CA: {some(strangers)}")


def direct(visit: Visit) -> Iterator[Reason]:
    """Yield reasons if the browser's environment names a proxy."""
    if visit.proxies:
        yield Reason(
            "stack-drift", f"the browser's environment names a proxy: {some(visit.proxies)}"
        )


def _answered(visit: Visit) -> list[Request]:
    return [r for r in visit.requests if r.protocol and not r.from_cache]


def _at_home(visit: Visit, request: Request) -> bool:
    home = visit.addresses.get(request.host, "")
    port = port_in(home)
    if named := urlsplit(request.url).port:
        port = named
    elif request.url.startswith("http:"):
        port = _HTTP
    return request.remote_ip == address_in(home) and port == (request.remote_port or port)


def _far_ends(visit: Visit) -> Sequence[FarEnd]:
    """Return the far ends with a port, each once. Multicast, which WebRTC sends, is left out,
    because it gets no answer."""
    link = visit.link
    every = (*(link.up.far_ends or ()), *(link.down.far_ends or ())) if link else ()
    single = (e for e in every if e.port and not ip_address(e.address).is_multicast)
    return list({(e.address, e.port, e.transport): e for e in single}.values())


def _ours(visit: Visit, end: FarEnd, asked: Container[tuple[str, int]]) -> bool:
    """Return whether traffic with this far end belongs to the testbed. `asked` are addresses and
    ports that URLs of the visit name."""
    places = set(visit.addresses.values())
    known = {address_in(known) for known in places}
    if end.address not in known:
        return bool(visit.background)  # only the background load uses addresses without a host
    http = end.port == _HTTP and end.transport == "tcp"
    return http or place(end.address, end.port) in places or (end.address, end.port) in asked


def _asked(visit: Visit) -> set[tuple[str, int]]:
    """Return address and port of every URL with an explicit port that browser or server report."""
    urls = [*(r.url for r in visit.requests), *(s.url for s in visit.served)]
    urls += [*(s.url for s in visit.sockets), *(s.url for s in visit.served_sockets)]
    places = (urlsplit(url) for url in urls)
    return {(_address(visit, p.hostname or ""), p.port) for p in places if p.port is not None}


def _address(visit: Visit, host: str) -> str:
    return address_in(visit.addresses.get(host, ""))


def _bytes(ends: Sequence[FarEnd]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for end in ends:
        counts[end.address] += end.bytes
    return counts
