"""Checks that time passed evenly, and that the clocks of browser and server agree.

Link, origin and browser take timestamps from CLOCK_REALTIME. If that clock is set during a visit,
all times are distorted, and browsers that were started earlier keep the old time.
"""

from collections.abc import Iterator

from dragstrip.model.network import Network
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, Visit
from dragstrip.visit.server_time import known_to_both, late_stamps


def steady(visit: Visit, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons if the clock advanced differently from time. A time service may correct the
    clock a little."""
    if visit.host is None or visit.host.clock_jump_ms is None:
        return
    jump_ms = visit.host.clock_jump_ms
    limit_ms = max(limits.clock_error_ms, limits.clock_error_share * visit.host.wall_ms)
    if abs(jump_ms) > limit_ms:
        yield Reason(
            "clock-jump",
            f"the clock was set by {jump_ms:+.3f} ms during the visit (limit {limit_ms:g} ms)",
        )


def agreed(visit: Visit, network: Network, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons if a request reached the server before it was sent, or if an answer reached the
    browser before it left the server."""
    bounds = offset_ms(visit, network)
    if bounds is None:
        return
    least, most = bounds
    # Requests faster than the link's delays are judged by `physics`. They say nothing about clocks.
    if least > most:
        return
    off = least if least > limits.clock_error_ms else most if -most > limits.clock_error_ms else 0.0
    if off:
        yield Reason(
            "clock-jump",
            f"the server's clock is {off:+.3f} ms off the browser's, or more (limit "
            f"{limits.clock_error_ms:g} ms)",
        )


def offset_ms(visit: Visit, network: Network) -> tuple[float, float] | None:
    """Return bounds in ms of how far the server's clock is ahead of the browser's.

    A request takes at least the upstream delay to the server, and its answer at least the
    downstream delay back (Cristian, "Probabilistic clock synchronization", Distributed Computing 3,
    1989). None without a request that both ends timed. Repeated requests are left out, because they
    cannot be matched. A few requests may have a late timestamp, but a wrong clock affects every
    request.
    """
    up, down = network.least_delay_ms("up"), network.least_delay_ms("down")
    least, mosts = float("-inf"), []
    for request, served in known_to_both(visit):
        assert request.send_start_ms is not None
        assert request.response_start_ms is not None
        seen_ms = (served.t_us - visit.started_us) / 1000
        least = max(least, seen_ms + down - request.response_start_ms)
        mosts.append(seen_ms - up - request.send_start_ms)
    if not mosts:
        return None
    return least, sorted(mosts)[min(late_stamps(len(mosts)), len(mosts) - 1)]
