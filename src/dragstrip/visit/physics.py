"""What no load can beat: bytes over rate, and the round trips of its handshakes."""

from collections.abc import Iterator

from dragstrip.model.network import Network
from dragstrip.model.stack import Protocol, Stack
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, Visit
from dragstrip.visit.request_checks import before_load

CONNECT_RTTS: dict[Protocol, int] = {"h1": 2, "h2": 2, "h3": 1}
"""Round trips until a first request may be sent: TCP handshake plus TLS 1.3 (RFC 8446 section 2),
or QUIC's combined handshake (RFC 9000 section 7)."""


def floor_ms(visit: Visit, network: Network, protocol: Protocol) -> float:
    """Least possible page load time: first answer's round trips, then all bytes at full rate.

    Counts only bytes of requests that ended before the load event, as the browser received them,
    without transport overhead, so it is a true lower bound.
    """
    rtts = (CONNECT_RTTS[protocol] + 1) * network.rtt_ms
    rate = network.down.rate_mbps
    wire_bytes = sum(r.wire_bytes for r in before_load(visit))
    return rtts + (wire_bytes * 8 / (rate * 1000) if rate else 0.0)


def possible(visit: Visit, network: Network, stack: Stack, limits: Thresholds) -> Iterator[Reason]:
    """A load, a connect or an answer faster than the network allows."""
    slack = limits.clock_slack_ms
    floor = floor_ms(visit, network, stack.protocol)
    if visit.plt_ms is not None and visit.plt_ms < floor - slack:
        yield Reason(
            "impossible",
            f"page load time {visit.plt_ms:.1f} ms is below the {floor:.1f} ms that its bytes, "
            "the rate and the round trips need",
        )
    rtt = network.rtt_ms
    for request in visit.requests:
        if request.from_cache or not request.protocol:
            continue
        connect = _span(request.connect_start_ms, request.connect_end_ms)
        least = CONNECT_RTTS[request.protocol] * rtt
        if connect is not None and connect < least - slack:
            yield Reason(
                "impossible",
                f"connecting for {request.url} took {connect:.1f} ms, at least {least:.1f} ms "
                "are needed",
            )
            return
        wait = _span(request.send_start_ms, request.response_start_ms)
        if wait is not None and wait < rtt - slack:
            yield Reason(
                "impossible",
                f"{request.url} was answered {wait:.1f} ms after it was sent; the round trip is "
                f"{rtt:.1f} ms",
            )
            return


def _span(start: float | None, end: float | None) -> float | None:
    return None if start is None or end is None else end - start
