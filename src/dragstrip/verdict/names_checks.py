"""Checks that the browser took its names from the testbed's resolver, over the path that was asked
for. The resolver logs each query, the path counts its packets, and the server logs when a
connection came. A browser may keep answers, ask twice, prefetch, or use an HTTPS record's address
hints."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from dragstrip.model.clock import Clock
from dragstrip.model.lookups import NameLookup
from dragstrip.model.names import Dns
from dragstrip.model.network import Network
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import NamesReport, Reason, Visit
from dragstrip.verdict.link_checks import carried
from dragstrip.verdict.request_checks import some

_SLACK_US = 1_000
"""Difference in us that two programs' readings of one clock may have."""
_LATE_MS = 5.0
"""Most time in ms that a resolver needs in addition to its recursive look-up."""
_ADDRESSES = frozenset({"A", "AAAA", "HTTPS"})
"""Records that tell an address. An HTTPS record does it by hints."""


def resolved(visit: Visit, network: Network, limits: Thresholds, clock: Clock) -> Iterator[Reason]:
    """Yield reasons if names were not looked up as the network says."""
    dns = network.resolver
    if dns is None:
        return
    if visit.names is None:
        yield Reason("link-drift", "the resolver gave no report")
        return
    for detail in carried(visit.names.path, dns.way, dns.way, limits, clock):
        yield Reason("link-drift", f"path to the resolver, {detail}")
    other = [
        x.name for x in visit.names.lookups if (x.transport == "doh") != (network.ask == "doh")
    ]
    if other:
        yield Reason("stack-drift", f"names were not asked for by {network.ask}: {some(other)}")
    yield from _taken(visit, visit.names, dns)
    if visit.connection == "first":
        yield from _connected(visit, visit.names, network, dns)


def _taken(visit: Visit, names: NamesReport, dns: Dns) -> Iterator[Reason]:
    """Yield reasons if a name took another time than its recursive look-up."""
    first = visit.connection == "first"
    unknown = dns.unknown(visit.addresses, visit.seed) if first else frozenset[str]()
    seen: set[tuple[str, str]] = set()
    for lookup in names.lookups:
        if lookup.name not in visit.addresses:
            continue
        took_ms = (lookup.answered_us - lookup.t_us) / 1000
        asked, waits = (lookup.name, lookup.kind), lookup.name in unknown
        fresh = asked not in seen
        seen.add(asked)
        least_ms = dns.upstream_ms if waits and fresh else 0.0
        most_ms = (dns.upstream_ms if waits else 0.0) + _LATE_MS
        if not least_ms - _SLACK_US / 1000 <= took_ms <= most_ms:
            yield Reason(
                "link-drift",
                f"the resolver took {took_ms:.1f} ms for {lookup.name} ({lookup.kind}), where a "
                f"{'look-up upstream' if waits else 'name that it knows'} takes {least_ms:g} to "
                f"{most_ms:g} ms",
            )
            return


def _connected(visit: Visit, names: NamesReport, network: Network, dns: Dns) -> Iterator[Reason]:
    """Yield reasons if a first visit's connection came to a host without a look-up, or sooner than
    the answer and the connection's first packet allow."""
    told = _told(names.lookups)
    unasked, early = [], []
    for connection in sorted(visit.connections, key=lambda c: c.t_us):
        host = connection.host
        if host is None or host not in visit.addresses:
            continue
        if host not in told:
            unasked.append(host)
            continue
        least_us = told[host] + (dns.delay_ms + network.up.least_delay_ms) * 1000
        if connection.t_us < least_us - _SLACK_US:
            early.append(f"{host} by {(least_us - connection.t_us) / 1000:.1f} ms")
    if unasked:
        yield Reason(
            "stack-drift", f"hosts were connected without asking the resolver: {some(unasked)}"
        )
    if early:
        yield Reason(
            "impossible", f"connections came before the name's answer can have: {some(early)}"
        )


def _told(lookups: Sequence[NameLookup]) -> dict[str, int]:
    """Return when the resolver first answered with each name's address."""
    times: dict[str, list[int]] = defaultdict(list)
    for lookup in lookups:
        if lookup.answers and lookup.kind in _ADDRESSES:
            times[lookup.host].append(lookup.answered_us)
    return {name: min(all_us) for name, all_us in times.items()}
