"""Checks that the browser used QUIC as it should, for stacks that discover it.

By Alt-Svc (RFC 7838): as measured with Chromium 156 on 13 pages, the browser connects by QUIC at
the first request to a host after an answer has announced h3, on first and repeat visits. Until it
is connected, requests use h2. On a repeat visit the announcement came before it, so QUIC is tried
at once.

By the name's HTTPS record (RFC 9460): Chromium 156 connects by QUIC before the first
request, as long as UDP passes. Where both announce it, browsers race QUIC against TCP, and either
may win.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from dragstrip.model.effects import Side
from dragstrip.model.family import address_in, port_in
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Connection, FarEnd, Reason, Request, Visit
from dragstrip.verdict.request_checks import some

_SLACK_MS = 5.0
"""Time in ms from an answer's arrival until the browser has processed it."""
_HANDSHAKE_RTTS = 3
"""Round trips of a QUIC handshake (one, RFC 9000 section 7), plus two for a browser that decides
later."""
_UNHEARD_PACKETS = 4
"""Number of packets for a complete ClientHello, which spans two, even if one of them is sent
again."""


def discovered(visit: Visit, network: Network, stack: Stack) -> Iterator[Reason]:
    """Yield a reason if the browser did not try QUIC for the next request to a host that had
    announced h3, or did not use QUIC after that."""
    if stack.discovery != "alt-svc":
        return
    untried, unheard, unused, forgotten = [], [], [], []
    known = (visit.primed or ()) if visit.connection != "first" else ()
    for host, asked in _by_host(visit).items():
        if any(r.protocol == "h3" for r in asked):
            continue
        up, down = _udp(visit, host, "up"), _udp(visit, host, "down")
        silent = up is not None and not (up.packets or up.dropped)
        if host in known and silent:
            forgotten.append(host)
            continue
        told_ms = min(r.response_start_ms or 0.0 for r in asked)
        later = [r for r in asked if r.start_ms > told_ms + _SLACK_MS]
        if not later:
            continue
        near = {h for h, place in visit.addresses.items() if place == visit.addresses.get(host)}
        heard = [c for c in visit.connections if c.protocol == "h3" and c.host in near | {host}]
        connections = (c for c in heard if c.host == host and not c.error)
        connected_ms = _first_ms(visit, connections)
        lost = (up.dropped if up else 0) + (down.dropped if down else 0)
        if not heard and silent:
            untried.append(host)
        elif not heard and up is not None and up.packets >= _UNHEARD_PACKETS:
            unheard.append(host)
        elif connected_ms is not None and not lost:
            ready_ms = connected_ms + _HANDSHAKE_RTTS * network.longest_rtt_ms + _SLACK_MS
            unused += [host] if any(r.start_ms > ready_ms for r in later) else []
    for hosts, what in (
        (forgotten, "announced h3 in an earlier visit, but were never tried over QUIC"),
        (untried, "announced h3 and got more requests later, but were never tried over QUIC"),
        (unheard, "were tried over QUIC; packets crossed the link, but the server saw none"),
        (unused, "were connected by QUIC, but all later requests went over h2"),
    ):
        if hosts:
            yield Reason("fallback", f"{len(hosts)} hosts {what}: {some(hosts)}")


def announced(visit: Visit, network: Network, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if a name lacked the HTTPS record that the stack promises, if the browser did
    not ask for it, or if it used TCP first although QUIC was announced and nothing hindered it."""
    if not stack.announced or visit.names is None:
        return
    path = visit.names.path
    lost = path.down.dropped or path.up.dropped
    asked = {x.host: x.answers for x in visit.names.lookups if x.kind == "HTTPS"}
    hosts = _by_host(visit)
    bare = [host for host in hosts if asked.get(host) == 0]
    if bare:
        yield Reason("stack-drift", f"names have no HTTPS record: {some(bare)}")
    looked = {x.host for x in visit.names.lookups}
    unasked = [host for host in hosts if host in looked and host not in asked]
    if unasked and not lost:
        yield Reason("stack-drift", f"the browser asked for no HTTPS record of {some(unasked)}")
    if stack.discovery != "https" or lost or _hindered(network):
        return
    late = [
        host
        for host, requests in hosts.items()
        if host not in (*bare, *unasked)
        and min(requests, key=lambda r: r.start_ms).protocol != "h3"
        and not any(end and end.dropped for end in (_udp(visit, host, s) for s in _SIDES))
    ]
    if late:
        yield Reason(
            "fallback",
            f"{len(late)} hosts announced h3 by their names, but the first request used TCP: "
            + some(late),
        )


_SIDES: tuple[Side, Side] = ("up", "down")


def _hindered(network: Network) -> bool:
    """Return whether the network treats UDP worse than TCP, or lets QUIC try IPv6 addresses that
    lead nowhere. Chromium and Firefox send the first request over TCP and IPv4 then."""
    return bool(network.up.udp or network.down.udp or network.broken_ipv6)


def _by_host(visit: Visit) -> dict[str, list[Request]]:
    requests: dict[str, list[Request]] = defaultdict(list)
    for request in visit.requests:
        answered = request.protocol and request.response_start_ms is not None
        if answered and not request.from_cache and request.url.startswith("https:"):
            requests[request.host].append(request)
    return requests


def _udp(visit: Visit, host: str, side: Side) -> FarEnd | None:
    """Return the traffic to or from a host over UDP; None if unknown."""
    home = visit.addresses.get(host, "")
    address = address_in(home)
    ends = visit.link.direction(side).far_ends if visit.link else None
    if ends is None or not address:
        return None
    none = FarEnd(address=address, port=port_in(home), transport="udp", packets=0, bytes=0)
    matching = (e for e in ends if (e.address, e.transport) == (address, "udp"))
    return next(matching, none)


def _first_ms(visit: Visit, connections: Iterable[Connection]) -> float | None:
    """Return when the first of these connections began, in ms since the navigation; None without
    connections."""
    began_us = min((c.t_us for c in connections), default=None)
    return None if began_us is None else (began_us - visit.started_us) / 1000
