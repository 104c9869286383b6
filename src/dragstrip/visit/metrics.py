"""The metrics of a visit: one table, which report, export and documentation use.

Metrics are pure functions of the visit, its network and its stack. A metric is None if it was not
measured, for example because the load failed or no frames were recorded.
"""

from collections import Counter

from msgspec import Struct

from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Request, Visit
from dragstrip.visit import names
from dragstrip.visit.carried import address_of, coalesced
from dragstrip.visit.ideal import ideal_ms
from dragstrip.visit.intervals import union_ms
from dragstrip.visit.metric import Measure, Metric, alone, middle
from dragstrip.visit.physics import ended
from dragstrip.visit.transfer import TRANSFER


def measures(visit: Visit, network: Network, stack: Stack) -> dict[str, float | None]:
    """Return every metric of the visit by name."""
    return {m.name: m.measure(visit, network, stack) for m in METRICS}


class ObjectTime(Struct, frozen=True):
    """The time that an object took, counted from the decision to fetch it and also from sending its
    request."""

    url: str
    queued_ms: float
    """Time from the decision to fetch the object to its last byte. Queueing in the browser is
    included."""
    sent_ms: float | None
    """Time from the request's first byte to the answer's last byte. None if the browser did not
    report when it sent the request."""


def object_times(visit: Visit) -> list[ObjectTime]:
    """Return the times of every request answered from the network, in the browser's order."""
    return [
        ObjectTime(
            r.url,
            r.end_ms - r.start_ms,
            None if r.send_start_ms is None else r.end_ms - r.send_start_ms,
        )
        for r in _answered(visit)
        if r.end_ms is not None
    ]


def network_plt_ms(visit: Visit) -> float | None:
    """Return the time in ms in which at least one resource other than a script was being fetched.

    biswal2016 section 3.1: the union of the intervals from queueing to last byte of all resources,
    scripts excluded. Resources requested after the load event are left out.
    """
    if visit.plt_ms is None:
        return None
    return union_ms(
        (r.start_ms, r.end_ms)
        for r in _answered(visit)
        if r.end_ms is not None and r.resource_type != "Script" and r.start_ms < visit.plt_ms
    )


def _answered(visit: Visit) -> list[Request]:
    return [r for r in visit.requests if r.protocol and not r.from_cache and not r.error]


def _loaded_bytes(visit: Visit) -> int:
    return sum(r.wire_bytes for r in ended(visit))


def _goodput(visit: Visit) -> float | None:
    return _loaded_bytes(visit) * 8 / visit.plt_ms / 1000 if visit.plt_ms else None


def _utilisation(visit: Visit, network: Network, stack: Stack) -> float | None:
    rate = None if network.at else network.down.rate_mbps
    if not (visit.link and visit.host and rate and visit.host.wall_ms):
        return None
    return visit.link.down.bytes_out * 8 / (rate * 1000 * visit.host.wall_ms)


def _overhead(visit: Visit) -> float | None:
    if not (visit.link and visit.wire_bytes):
        return None
    return visit.link.down.bytes_in / visit.wire_bytes - 1


def _over_ideal(visit: Visit, network: Network, stack: Stack) -> float | None:
    least = ideal_ms(visit, network, stack)
    return visit.plt_ms / least if visit.plt_ms and least else None


def _handshakes(visit: Visit) -> list[float]:
    return [
        r.connect_end_ms - r.connect_start_ms
        for r in visit.requests
        if r.connect_start_ms is not None and r.connect_end_ms is not None
    ]


def connect_to_request_ms(visit: Visit) -> float | None:
    """Return the time in ms from the document's connectStart until its request is sent. None on a
    reused connection."""
    for r in visit.requests:
        if r.resource_type == "Document" and r.connect_start_ms is not None:
            return None if r.send_start_ms is None else r.send_start_ms - r.connect_start_ms
    return None


def _per_address(visit: Visit) -> float | None:
    addresses = Counter(address_of(visit, c) for c in visit.connections if not c.error)
    return max(addresses.values(), default=None)


def _per_host(visit: Visit) -> float | None:
    hosts = Counter(c.host for c in visit.connections if not c.error)
    return max(hosts.values(), default=None)


def _lost(visit: Visit) -> float | None:
    if not visit.link:
        return None
    return visit.link.down.dropped + visit.link.up.dropped


def _server_cpu_ms(visit: Visit) -> float | None:
    """Return None where computing takes no time."""
    spent_s = visit.host.origin_cpu_s if visit.host else None
    return spent_s * 1000 if spent_s else None


def _field(name: str) -> Measure:
    return alone(lambda visit: getattr(visit, name))


def _seen(name: str) -> Measure:
    return alone(lambda visit: getattr(visit.visual, name, None))


_TIMING = "W3C Navigation Timing"
_PAPER = "wolsing2019 section 2.1"
_LINK = "the link's counters"

METRICS: tuple[Metric, ...] = (
    Metric(
        "plt_ms",
        "ms",
        "lower",
        "page load time: end of the load event, or the moment that --done names",
        _TIMING,
        _field("plt_ms"),
    ),
    Metric("dcl_ms", "ms", "lower", "end of DOMContentLoaded", _TIMING, _field("dcl_ms")),
    Metric(
        "ttfb_ms",
        "ms",
        "lower",
        "first byte of the document's answer, which with Early Hints is that of status 103",
        _TIMING,
        _field("ttfb_ms"),
        early=True,
    ),
    Metric(
        "fcp_ms",
        "ms",
        "lower",
        "first contentful paint",
        "W3C Paint Timing",
        _field("fcp_ms"),
        early=True,
        painted=True,
    ),
    Metric(
        "lcp_ms",
        "ms",
        "lower",
        "largest contentful paint up to the end of the visit",
        "W3C Largest Contentful Paint",
        _field("lcp_ms"),
        painted=True,
    ),
    Metric(
        "fvc_ms",
        "ms",
        "lower",
        "first visual change",
        _PAPER,
        _seen("fvc_ms"),
        early=True,
        painted=True,
    ),
    Metric("lvc_ms", "ms", "lower", "last visual change", _PAPER, _seen("lvc_ms"), painted=True),
    Metric(
        "vc85_ms",
        "ms",
        "lower",
        "visually complete to 85 %",
        _PAPER,
        _seen("vc85_ms"),
        painted=True,
    ),
    Metric(
        "speed_index_ms",
        "ms",
        "lower",
        "integral of what is missing from the final picture",
        "webpagetest.org, Speed Index",
        _seen("speed_index_ms"),
        painted=True,
    ),
    Metric(
        "network_plt_ms",
        "ms",
        "lower",
        "time with a resource other than a script under way",
        "biswal2016 section 3.1",
        alone(network_plt_ms),
    ),
    Metric(
        "ideal_ms",
        "ms",
        "neither",
        "lower bound: bytes, rate, round trips, dependency depth",
        "dragstrip.visit.ideal",
        ideal_ms,
    ),
    Metric("plt_over_ideal", "ratio", "lower", "plt_ms / ideal_ms", "as ideal_ms", _over_ideal),
    Metric(
        "object_queued_ms",
        "ms",
        "lower",
        "median object, queueing in the browser included",
        "HAR 1.2, time",
        middle(lambda visit: [t.queued_ms for t in object_times(visit)]),
    ),
    Metric(
        "object_sent_ms",
        "ms",
        "lower",
        "median object from request sent to last byte",
        "HAR 1.2, send + wait + receive",
        middle(lambda visit: [t.sent_ms for t in object_times(visit) if t.sent_ms is not None]),
    ),
    Metric(
        "handshake_ms",
        "ms",
        "lower",
        "median wait for a new connection, TLS included",
        "HAR 1.2, connect",
        middle(_handshakes),
        early=True,
    ),
    Metric(
        "connect_to_request_ms",
        "ms",
        "lower",
        "first packet of the document's connection until its request leaves",
        "HAR 1.2, connect",
        alone(connect_to_request_ms),
        early=True,
    ),
    Metric(
        "names_ms",
        "ms",
        "lower",
        "time with a name being looked up at the testbed's resolver",
        "HAR 1.2, dns",
        alone(names.waited_ms),
        early=True,
    ),
    Metric(
        "document_name_ms",
        "ms",
        "lower",
        "look-up of the document's name",
        "HAR 1.2, dns",
        alone(names.document_ms),
        early=True,
    ),
    Metric(
        "lookups",
        "count",
        "neither",
        "queries for the page's names that reached the resolver",
        "the resolver's log",
        alone(names.lookups),
    ),
    Metric(
        "discovered_hosts",
        "count",
        "neither",
        "hosts whose first answer came over HTTP/3, where the browser has to discover it",
        "browser",
        names.discovered_hosts,
    ),
    Metric(
        "requests",
        "count",
        "neither",
        "requests made",
        "browser",
        alone(lambda visit: len(visit.requests)),
    ),
    Metric(
        "stack_protocol_share",
        "share",
        "neither",
        "answered requests that used the stack's protocol: how far one found by Alt-Svc got",
        "browser",
        lambda visit, network, stack: (
            visit.protocol_share.get(stack.protocol, 0.0) if visit.protocol_share else None
        ),
    ),
    Metric(
        "connections",
        "count",
        "neither",
        "connections the origin accepted",
        "the origin's log",
        alone(lambda visit: sum(not c.error for c in visit.connections)),
    ),
    Metric(
        "sockets",
        "count",
        "neither",
        "WebSockets that the page opened, answered or not",
        "browser, and the origin's log",
        alone(lambda visit: max(len(visit.sockets), len(visit.served_sockets))),
    ),
    Metric(
        "sockets_beside",
        "count",
        "neither",
        "those of them over HTTP/1.1 beside a stack of another protocol",
        "the origin's log",
        lambda visit, network, stack: sum(
            s.protocol == "h1" and stack.protocol != "h1" for s in visit.served_sockets
        ),
    ),
    Metric(
        "connections_per_host",
        "count",
        "neither",
        "most connections to one host",
        "the origin's log",
        alone(_per_host),
    ),
    Metric(
        "connections_per_address",
        "count",
        "neither",
        "most connections to one address",
        "the origin's log",
        alone(_per_address),
    ),
    Metric(
        "coalesced_requests",
        "count",
        "neither",
        "requests over a connection to another host",
        "the origin's log",
        alone(lambda visit: len(coalesced(visit))),
    ),
    Metric(
        "down_bytes",
        "byte",
        "lower",
        "layer 3 bytes delivered to the browser",
        _LINK,
        alone(lambda visit: visit.link.down.bytes_out if visit.link else None),
    ),
    Metric(
        "up_bytes",
        "byte",
        "lower",
        "layer 3 bytes delivered to the origin",
        _LINK,
        alone(lambda visit: visit.link.up.bytes_out if visit.link else None),
    ),
    Metric(
        "packets_lost",
        "count",
        "neither",
        "dropped by the link, both ways, for any cause",
        _LINK,
        alone(_lost),
    ),
    Metric(
        "down_overhead",
        "share",
        "lower",
        "bytes the origin sent beyond those the browser counts: headers below HTTP, handshakes, "
        "answers preloaded by Early Hints, "
        "retransmissions",
        _LINK,
        alone(_overhead),
    ),
    Metric(
        "goodput_mbps",
        "Mbit/s",
        "higher",
        "wire bytes before the load event / plt_ms",
        "Carlucci et al. 2015",
        alone(_goodput),
    ),
    Metric(
        "utilisation",
        "share",
        "higher",
        "delivered bytes / what the link could carry meanwhile",
        "Carlucci et al. 2015",
        _utilisation,
    ),
    Metric(
        "server_cpu_ms",
        "ms",
        "lower",
        "CPU time of the server, user and system, without the origin behind a server that is not "
        "ours; in virtual time at most the price of its system calls",
        "CLOCK_PROCESS_CPUTIME_ID, or /proc/PID/task/TID/schedstat",
        alone(_server_cpu_ms),
        spent=True,
    ),
    *TRANSFER,
)
"""All metrics, in the order of documentation and tables."""
EARLY = frozenset(metric.name for metric in METRICS if metric.early)
"""Names of the metrics that a load may reach although it never ends, see `Metric.early`."""
