"""Metrics of the transfer of bytes: uploads, waits, pauses, windows and losses.

`dragstrip.results.compare.wire_evidence` uses these metrics to find causes.
"""

from statistics import median

from dragstrip.model.effects import Side
from dragstrip.visit import course
from dragstrip.visit.metric import Metric, alone, middle
from dragstrip.visit.server_time import (
    declared_lost,
    retransmitted,
    server_ms,
    waits_ms,
    window_bytes,
)
from dragstrip.visit.uploads import handed_over_ms, upload_mbps, upload_ms, uploaded_bytes

_LOG = "the origin's log"
_COURSE = "the link's timeline"
_SENDER = "TCP_INFO, or quinn's statistics"
_BODIES: tuple[tuple[Side, str], ...] = (("down", "answers"), ("up", "uploads"))

TRANSFER: tuple[Metric, ...] = (
    Metric(
        "upload_bytes",
        "byte",
        "neither",
        "bodies of requests that the origin received whole",
        _LOG,
        alone(uploaded_bytes),
    ),
    Metric(
        "upload_ms",
        "ms",
        "lower",
        "time with an upload under way, from its first byte sent until the origin has the last",
        "browser, the origin's log",
        alone(upload_ms),
    ),
    Metric(
        "upload_sent_ms",
        "ms",
        "lower",
        "median request with a body, from its first byte sent until the browser's transport has "
        "the last",
        "HAR 1.2, send",
        middle(handed_over_ms),
    ),
    Metric(
        "upload_mbps",
        "Mbit/s",
        "higher",
        "upload goodput: bytes of the bodies / upload_ms",
        "as upload_ms",
        alone(upload_mbps),
    ),
    Metric(
        "wait_ms",
        "ms",
        "lower",
        "median object from request sent to first byte, beyond a round trip: server and queues",
        "HAR 1.2, wait",
        lambda visit, network, stack: (
            median(found) if (found := waits_ms(visit, network)) else None
        ),
        early=True,
    ),
    Metric(
        "server_ms",
        "ms",
        "lower",
        "median time in the server, from the request complete to the answer ready",
        _LOG,
        middle(server_ms),
        early=True,
    ),
    *(
        Metric(
            f"{side}_idle_ms",
            "ms",
            "neither",
            f"pauses of the link {side} while {what} were under way",
            _COURSE,
            course.of(course.idle_ms, side),
        )
        for side, what in _BODIES
    ),
    *(
        Metric(
            f"{side}_flight_bytes",
            "byte",
            "neither",
            f"most bytes {side} in a round trip while {what} were under way",
            _COURSE,
            course.of(course.flight_bytes, side),
        )
        for side, what in _BODIES
    ),
    *(
        Metric(
            f"{side}_flights",
            "count",
            "neither",
            f"round trips that carried about as many bytes {side} as the fullest",
            _COURSE,
            course.of(course.flights, side),
        )
        for side, _ in _BODIES
    ),
    Metric(
        "window_bytes",
        "byte",
        "neither",
        "congestion window at the end of the origin's connection that sent most",
        _SENDER,
        alone(window_bytes),
    ),
    Metric(
        "down_lost",
        "count",
        "neither",
        "packets down that the link dropped, for any cause",
        "the link's counters",
        alone(lambda visit: visit.link.down.dropped if visit.link else None),
    ),
    Metric(
        "declared_lost",
        "count",
        "neither",
        "packets that the origin's transport took for lost",
        _SENDER,
        alone(declared_lost),
    ),
    Metric(
        "retransmitted",
        "count",
        "neither",
        "packets that the origin's TCP sent again",
        _SENDER,
        alone(retransmitted),
    ),
    Metric(
        "crowd_drops",
        "count",
        "neither",
        "packets that the queue up dropped while several connections opened at once",
        _COURSE,
        lambda visit, network, stack: course.crowd_drops(visit, network),
    ),
    Metric(
        "too_long",
        "count",
        "neither",
        "packets that the network's MTU dropped, both ways",
        "the link's counters",
        alone(lambda visit: visit.link.dropped_mtu if visit.link else None),
    ),
)
