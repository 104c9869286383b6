"""Lower bounds that no load can beat: bytes over rate, and the round trips of its handshakes."""

from collections.abc import Iterator

from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, Request, Visit
from dragstrip.visit.server_time import known_to_both, late_stamps
from dragstrip.visit.uploads import uploaded_by, uploads


def connect_rtts(visit: Visit, stack: Stack) -> int:
    """Return the fewest round trips until the first request may be sent, see `Stack.connect_rtts`.
    With http:// only TCP's handshake is needed."""
    if visit.connection == "repeat-cached":
        return -1  # the document may come from the cache, without any round trip
    if visit.requests and visit.requests[0].url.startswith("http:"):
        return 1
    return stack.connect_rtts(repeat=visit.connection != "first")


def ended(visit: Visit) -> list[Request]:
    """Return the requests that ended before the load event; none if there was no load event."""
    load_ms = visit.plt_ms or 0
    return [r for r in visit.requests if r.end_ms is not None and r.end_ms <= load_ms]


def floor_ms(visit: Visit, network: Network, stack: Stack) -> float:
    """Return the least possible page load time in ms: the round trips of the first answer, then all
    bytes at full rate. If uploads take longer, return their time instead; an upload need not wait
    for an answer.

    Only bytes that the browser received in requests that ended before the load event count, and
    uploads that the origin had received by then. Transport overhead does not count, so the result
    is a true lower bound.
    """
    connected_ms = connect_rtts(visit, stack) * network.least_rtt_ms
    wire_bytes = sum(r.wire_bytes for r in ended(visit) if not r.from_cache)
    answered_ms = network.crossed_ms("down", connected_ms + network.least_rtt_ms, wire_bytes)
    return max(answered_ms, sent_ms(visit, network, stack))


def sent_ms(visit: Visit, network: Network, stack: Stack) -> float:
    """Return the least time in ms until the origin had received what the page uploaded before its
    load event; 0 without uploads.

    An upload waits for its connection, but for no answer.
    """
    sent_bytes = uploaded_by(uploads(visit), visit.plt_ms or 0)
    if not sent_bytes:
        return 0.0
    connected_ms = connect_rtts(visit, stack) * network.least_rtt_ms
    return network.crossed_ms("up", connected_ms + network.least_delay_ms("up"), sent_bytes)


def possible(visit: Visit, network: Network, stack: Stack, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons against a load, a first byte or an answer that is faster than the network
    allows.

    Connect times of single requests are not judged: for a connection opened in advance, the browser
    reports only the part for which the request waited.
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
    """Yield a reason if the first answer came less than `least_ms` after its request was sent.

    A request was sent at the latest one upstream delay before the server saw it. A few timestamps
    may be later than that: Firefox timestamps a request after writing it, and may lose its CPU in
    between. For such requests the server's time counts.
    """
    up_ms = network.least_delay_ms("up")
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
