"""What no load can beat: bytes over rate, and the round trips of its handshakes."""

from collections.abc import Iterator

from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, Request, Visit
from dragstrip.visit.server_time import known_to_both, late_stamps
from dragstrip.visit.uploads import uploaded_by, uploads


def connect_rtts(visit: Visit, stack: Stack) -> int:
    """Least round trips until a first request may be sent, see `Stack.connect_rtts`. http:// has
    TCP's handshake alone."""
    if visit.connection == "repeat-cached":
        return -1  # the document may come from the cache, without any round trip
    if visit.requests and visit.requests[0].url.startswith("http:"):
        return 1
    return stack.connect_rtts(repeat=visit.connection != "first")


def ended(visit: Visit) -> list[Request]:
    """The requests that ended before the load event; none without one."""
    load_ms = visit.plt_ms or 0
    return [r for r in visit.requests if r.end_ms is not None and r.end_ms <= load_ms]


def floor_ms(visit: Visit, network: Network, stack: Stack) -> float:
    """Least possible page load time: first answer's round trips, then all bytes at full rate; or
    the way of all that was uploaded by then, which need not wait for an answer.

    Counts only bytes of requests that ended before the load event, as the browser received them,
    and of uploads that the origin had by then, without transport overhead, so it is a true lower
    bound.
    """
    connected_ms = connect_rtts(visit, stack) * network.least_rtt_ms
    wire_bytes = sum(r.wire_bytes for r in ended(visit) if not r.from_cache)
    answered_ms = connected_ms + network.least_rtt_ms + network.down.least_ms(wire_bytes)
    return max(answered_ms, sent_ms(visit, network, stack))


def sent_ms(visit: Visit, network: Network, stack: Stack) -> float:
    """Least time until the origin had what the page uploaded before its load event; 0 if nothing.

    An upload waits for its connection, and for no answer.
    """
    sent_bytes = uploaded_by(uploads(visit), visit.plt_ms or 0)
    if not sent_bytes:
        return 0.0
    connected_ms = connect_rtts(visit, stack) * network.least_rtt_ms
    return connected_ms + network.up.least_delay_ms + network.up.least_ms(sent_bytes)


def possible(visit: Visit, network: Network, stack: Stack, limits: Thresholds) -> Iterator[Reason]:
    """A load, a first byte or an answer faster than the network allows.

    Connect times are not judged request by request: for a socket that was opened in advance the
    browser reports only the part that its request waited for.
    """
    slack = limits.clock_slack_ms
    first_byte = (connect_rtts(visit, stack) + 1) * network.least_rtt_ms
    for name, got, least, why in (
        ("page load time", visit.plt_ms, floor_ms(visit, network, stack), "bytes, rate"),
        ("time to first byte", visit.ttfb_ms, first_byte, "handshakes"),
    ):
        if got is not None and got < least - slack:
            yield Reason(
                "impossible",
                f"{name} {got:.1f} ms is below the {least:.1f} ms its {why} and round trips need",
            )
    yield from _answered_too_fast(visit, network, network.least_rtt_ms - slack)


def _answered_too_fast(visit: Visit, network: Network, least_ms: float) -> Iterator[Reason]:
    """The first answer that came less than `least_ms` after its request was sent.

    A request left at least the way up before the server saw it. A few stamps may be later than
    that: Firefox stamps a request once it has written it, and may wait for a CPU in between. There
    the server's word counts.
    """
    up_ms = network.up.least_delay_ms
    left_ms = {id(r): (s.t_us - visit.started_us) / 1000 - up_ms for r, s in known_to_both(visit)}
    timed, fast, late = 0, [], 0
    for request in visit.requests:
        sent, first = request.send_start_ms, request.response_start_ms
        if sent is None or first is None or request.from_cache or not request.protocol:
            continue
        timed += 1
        if first - sent < least_ms:
            stamped_late = first - left_ms.get(id(request), first) >= least_ms
            late += stamped_late
            fast.append((request.url, first - sent, stamped_late))
    excused = late <= late_stamps(timed)
    for url, ms, stamped_late in fast:
        if stamped_late and excused:
            continue
        yield Reason(
            "impossible",
            f"{url} was answered {ms:.1f} ms after it was sent; the round trip takes "
            f"{network.least_rtt_ms:.1f} ms",
        )
        return
