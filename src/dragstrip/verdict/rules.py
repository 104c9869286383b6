"""The version of the verdict's rules.

A capsule keeps the evidence, and the verdicts by the rules of its time. When it is read, visits
that older rules judged are judged again by today's rules.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from msgspec import structs

from dragstrip.model.thresholds import DEFAULTS, Thresholds

VERSION = 24
"""Version of the rules. Every change of a check or of a default limit raises it; `CHANGES`
describes each change."""

STANDS_SINCE = 12
"""Oldest version whose verdicts stand if the evidence was not kept, because later checks find no
fault in those visits. (Since version 13, hosts may share addresses and certificates; before, each
host had its own.)"""

CHANGES: Mapping[int, tuple[str, ...]] = {
    24: (
        "where names have an IPv6 address at which nothing answers, a browser may send its first "
        "request over TCP, although the name's HTTPS record announces HTTP/3",
    ),
    23: (
        "a first visit may send early data as soon as a handshake with the host can have brought a "
        "ticket, and not only after the host's first answer",
        "a request that the page itself aborted does not count: others went on, or its rehearsal "
        "aborted it too",
        "Chromium's word that it aborted an answer without a body means that the answer came",
        "a load that loses objects because a server other than ours refuses them or breaks off is "
        "incomplete, which is its stack's result",
        "a script's report that the recording lacks does not count if it came when the loads of "
        "the block's other stacks had ended",
        "the CPU time of a server that is not ours is the server's, not that of other processes",
    ),
    22: (
        "delays that a network plays from a recording, and waits for its grants, are judged moment "
        "by moment",
        "a host that announced HTTP/3 by Alt-Svc in the load before a repeat visit must be tried "
        "over QUIC, however few requests it gets",
        "IPv6 that a network breaks must answer nothing, and its names must have IPv6 addresses",
        "an answer whose connection died may be missing from another server's log, which it "
        "enters when it ends",
    ),
    21: (
        "each packet of a server must have the ECN code point of its stack, ECT(0) or ECT(1), and "
        "each TCP connection the feedback of marks that the stack claims",
        "the address family of hosts, answers, connections and packets is the network's",
        "a link that changes during a load is judged phase by phase, and when and how it changed",
        "where the origin saw QUIC clients is judged, and whether it lets them move",
        "a stack that searches for its packet size may end with any size between both its fields",
        "names of a network with a resolver are judged, by the resolver's log, its path's counters "
        "and the server's times",
        "HTTP/3 that a name's HTTPS record announces is judged",
        "key share, certificates, their compression and Retry are judged, by the origin's log and "
        "by the browser",
    ),
    20: (
        "what the link's active queue management must drop or mark is judged, and what it cannot",
        "packets that the network's MTU stopped may keep a browser from every connection",
    ),
    19: (
        "a client that the study slows down is judged, by a fixed script in its page",
        "the offset of the browser's clock is that of the request whose two timestamps are closest",
    ),
    18: ("no record of TLS need be full over HTTP/2, where the longest body fills only a few",),
    17: (
        "early data may reach a server as late as browser and server waited for a CPU",
        "of a server that does not tell of idle connections, no single host must have resumed",
        "a content coding and a size of certificates that a stack claims are judged",
        "an upload must arrive whole, and no faster than its own way: connection, one-way delay "
        "and rate up",
        "Early Hints of our own origin are judged, by its log and the browser's; one that goes "
        "less than 10 ms ahead of its answer need not be noticed",
        "a load is the journey to the last document that its page moves on to, and what a page "
        "dropped when it moved on was not aborted",
        "WebSockets are no requests: they may have a connection of HTTP/1.1 beside any stack",
        "a page may ask any port of its hosts that a URL names, and each answer must come from the "
        "port of its URL",
        "a first visit's first connection is the one whose handshake ended first",
        "a request left before the server can have seen it, even where the browser's stamp is late",
        "an answer that the visit's end cut off may be missing from another server's log, be a "
        "part there, or have the status of a client that left",
    ),
    16: (
        "packets that the kernel dropped around the link are judged",
        "the odds of losses in bursts are bounded by their exact distribution, and each state's "
        "losses are judged",
        "a full queue may drop packets only where the network has a depth",
    ),
    15: ("ECN is judged by the marks of packets, and what ends slow start",),
    14: (
        "an answer from the cache is of this visit if its server sent it before its use, as after "
        "an answer with status 103",
        "early data of any server is judged, by the link and by when a request arrived",
        "a server may code bodies in its own way: the decoded body must be the page's",
        "a server may answer from files or a cache of its own, ask a browser to ask again, and log "
        "what the browser gave up",
    ),
    13: (
        "requests over connections to other hosts are judged by address and certificate",
        "a request that was answered 421 counts where it was sent again",
    ),
    12: ("a thread may wait for others 10 % of the load, not 5 %",),
    11: (
        "handshakes and connections that time out over QUIC are the network's doing: they no "
        "longer invalidate a visit",
        "a load is incomplete, not loaded, if the network lost objects of the page",
    ),
    10: (
        "a thread may wait for others 40 ms or 5 % of the load, not 120 ms or half of it",
        "with precedence no thread waits for others, unless testbeds ran beside each other; but "
        "then only loads count that the network dominates, however much others computed",
        "with jitter or reordering, the rate is judged on the line alone",
    ),
    9: (
        "threads of browser or server may wait for each other: a wait counts only as long as "
        "something outside the testbed ran",
    ),
    8: ("what packets waited for the bottleneck no longer counts as its delay",),
    7: ("the use of QPACK's dynamic table is judged",),
    6: ("TCP Fast Open is judged, as the client's kernel reports it",),
    5: (
        "other processes no longer invalidate a visit that had precedence over them, if the "
        "network dominates its load",
    ),
    4: (
        "a server that changes TCP's congestion control itself is caught, as the kernel reports it",
        "if a log does not show idle connections, any of a host's may be its first",
    ),
    3: ("a late request timestamp no longer counts as clock drift",),
    2: (
        "status, size and hash of answers, and the set of requests, are compared with the page",
        "addresses, ports, name lookups, certificates and proxies are judged",
        "HTTP/3 announced by Alt-Svc but never used is a fallback",
        "refused early data is found per connection, even if packets were lost",
        "each packet's time on the line is judged, and losses within a block are compared packet "
        "by packet",
        "requests over connections from before the visit are judged",
        "a thread may wait 120 ms, not 300 ms",
        "throttled CPUs are judged",
        "TLS record sizes are judged",
    ),
}

OLDER_WAITS: Mapping[str, float] = {"wait_ms": 120.0, "wait_share": 0.5}
"""Default limits for evidence before version 9. Such evidence does not say how long other processes
ran, and a thread waits mostly for the browser's own threads."""

_DEFAULTS_THEN: Mapping[int, Mapping[str, Any]] = {
    1: {**OLDER_WAITS, "wait_ms": 300.0},
    **{version: {**OLDER_WAITS, "precedence_share": 0.35} for version in range(2, 10)},
    **{version: {"wait_share": 0.05} for version in (10, 11)},
}
"""Default limits of older rules that differ from today's, by version."""


def limits_today(kept: Thresholds, versions: Iterable[int]) -> Thresholds:
    """Return the limits of a study made under older rules. A limit at an older default gets today's
    default; limits that the study set stay.

    A study that was resumed under newer rules may have defaults of several versions, so the
    defaults of each of `versions` are recognised.
    """
    moved = {
        name: getattr(DEFAULTS, name)
        for version in versions
        for name, old in _DEFAULTS_THEN.get(version, {}).items()
        if getattr(kept, name) == old
    }
    return structs.replace(kept, **moved)
