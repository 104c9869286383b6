"""Checks that the link delivered the network that was asked for."""

from collections.abc import Iterator

from dragstrip.model.chance import burst_odds, loss_interval
from dragstrip.model.clock import Clock
from dragstrip.model.effects import COUNTS, STAGES, STEP_COUNTS, Direction, Side
from dragstrip.model.network import ETHERNET_MTU, Network
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import DirectionReport, LinkReport, Reason, Visit
from dragstrip.verdict.aqm_checks import managed

_FRAME_BYTES = ETHERNET_MTU + 14
_ROUNDING_MS = 1e-6
"""Tolerance in ms, because the link counts whole nanoseconds."""
_SMALL = 100
"""Size in bytes that some packet has in every visit, in each direction: a SYN, an ACK, QUIC's ACK
frames."""


def delivered(
    visit: Visit, network: Network, limits: Thresholds, *, heard: bool = True
) -> Iterator[Reason]:
    """Yield reasons if the link's bytes, rate, delay, loss or packet sizes differ from the
    network's.

    `heard` says whether the servers log every connection.
    """
    if visit.link is None:
        yield Reason("link-drift", "the link gave no report")
        return
    yield from _in_path(visit, heard=heard)
    for side in STAGES:
        details = (
            _moving(side, network, visit.link, limits)
            if network.at
            else _drift(side, network.direction(side), visit.link.direction(side), limits)
        )
        for detail in details:
            yield Reason("link-drift", f"{side}: {detail}")


def _moving(side: Side, network: Network, link: LinkReport, limits: Thresholds) -> Iterator[str]:
    """Yield faults of a link that changes: what holds for the whole load, and for each phase what
    holds for a link that never changes."""
    yield from _packets(link.direction(side))
    rebound = False
    for report, phase in zip(link.phases, network.phases, strict=False):
        got, asked = report.direction(side), phase.direction(side)
        rebound = rebound or phase.rebind is not None
        details = (
            _in_outage(got)
            if side in phase.out
            else _drift(side, asked, got, limits, of_steps=False)
        )
        steps = _of_steps(got, handover=side in phase.drops, nat=rebound)
        for detail in (*details, *steps):
            yield f"from {phase.start_ms:g} ms on: {detail}"


def _in_outage(got: DirectionReport) -> Iterator[str]:
    if got.packets_out:
        yield f"{got.packets_out} packets crossed the link in an outage"


def _of_steps(got: DirectionReport, *, handover: bool, nat: bool) -> Iterator[str]:
    """Yield faults for packets that only a step may drop."""
    for count in STEP_COUNTS:
        wanted = {"dropped_handover": handover, "dropped_nat": nat}[count.field]
        if (seen := getattr(got, count.field)) and not wanted:
            yield f"{seen} packets were {count.words}, which the network does not ask for"


def carried(
    report: LinkReport, down: Direction, up: Direction, limits: Thresholds, clock: Clock
) -> Iterator[str]:
    """Yield faults of a path beside the link, such as the path to the resolver."""
    sides: tuple[tuple[Side, Direction], ...] = (("down", down), ("up", up))
    for side, asked in sides:
        got = report.direction(side)
        yield from (f"{side}: {detail}" for detail in _drift(side, asked, got, limits))
        late_us = got.lateness_max_us
        if clock.virtual and late_us and late_us > clock.lateness_us(limits.virtual_lateness_us):
            yield f"{side}: a packet left {late_us:.0f} us late in {clock.short}"


def punctual(visit: Visit, limits: Thresholds, clock: Clock) -> Iterator[Reason]:
    """Yield reasons if packets left late. In virtual time, only a defect of the link or a system
    call under way can make a packet late."""
    limit_us = clock.lateness_us(limits.virtual_lateness_us)
    if visit.link is None:
        return
    for side, report in (("down", visit.link.down), ("up", visit.link.up)):
        late_us = report.lateness_max_us
        if late_us is not None and late_us > limit_us:
            yield Reason(
                "link-drift",
                f"{side}: a packet left {late_us:.0f} us late in {clock.short} (limit "
                f"{limit_us:g} us)",
            )


def _in_path(visit: Visit, *, heard: bool) -> Iterator[Reason]:
    assert visit.link
    up, down = visit.link.up, visit.link.down
    received = visit.wire_bytes
    if received > down.bytes_out:
        yield Reason(
            "link-drift",
            f"the browser received {received} bytes, but only {down.bytes_out} crossed the link",
        )
    if visit.outcome == "loaded" or visit.connections or visit.served or not heard:
        return
    if not up.packets_in:
        yield Reason("link-drift", "no packet of the browser reached the link")
    elif up.packets_out and not (down.dropped or up.dropped_mtu):
        yield Reason(
            "link-drift",
            f"the link delivered {up.packets_out} packets to the origin, which saw no connection",
        )


def _drift(
    side: Side,
    asked: Direction,
    got: DirectionReport,
    limits: Thresholds,
    *,
    of_steps: bool = True,
) -> Iterator[str]:
    """Yield faults of a link, or of a phase of it. Packets that a step dropped are judged
    `of_steps`."""
    yield from (
        *_packets(got),
        *_rate(asked, got, limits),
        *_line(asked, got, limits),
        *_delay(asked, got, limits),
        *unlikely_loss(asked, *luck(side, got), limits),
        *_bursts(asked, trials(side, got), got, limits),
        *_host_loss(asked, got, limits),
        *_unasked(asked, got),
        *(_of_steps(got, handover=False, nat=False) if of_steps else ()),
        *managed(asked, got),
        *_told(got),
    )


def _packets(got: DirectionReport) -> Iterator[str]:
    if got.largest_frame_bytes > _FRAME_BYTES:
        yield f"a frame of {got.largest_frame_bytes} bytes exceeds {_FRAME_BYTES}: super-packets"
    if got.ring_drops:
        yield f"the kernel dropped {got.ring_drops} packets before the link could read them"
    if got.send_failures:
        yield f"the kernel refused to send on {got.send_failures} packets"
    for lost, where in ((got.lost_before, "before"), (got.lost_behind, "behind")):
        if lost:
            yield f"the kernel dropped {lost} packets {where} the link, which no loss explains"


def trials(side: Side, got: DirectionReport) -> int:
    """Return the number of packets that could have been lost at random."""
    # A lossless link counts no trials. Then the packets that left it are counted.
    tried = got.packets_out - got.duplicated + got.dropped_loss
    if got.loss_trials is None and side == "up":  # an old capsule: loss came before the queue
        tried = got.packets_in
    return max(got.loss_trials or 0, tried)


def luck(side: Side, got: DirectionReport) -> tuple[int, int]:
    """Return the number of packets lost at random, and the number of trials. For bursts that follow
    time, return the ms in the bad state and the ms in total."""
    if got.burst_ms is not None and got.burst_watched_ms is not None:
        return round(got.burst_ms), round(got.burst_watched_ms)
    return got.dropped_loss, trials(side, got)


def unlikely_loss(asked: Direction, lost: int, tried: int, limits: Thresholds) -> Iterator[str]:
    """Yield faults if this loss is too improbable for the requested loss."""
    chain = asked.gilbert_elliott
    if chain is None:
        low, high = loss_interval(tried, asked.loss, limits.loss_tail)
        if not low <= lost <= high:
            yield (
                f"{lost} of {tried} packets were lost at random; {asked.loss:.2%} asks for {low} "
                f"to {high}"
            )
    elif burst_odds(lost, tried, chain) < limits.loss_tail:
        if chain.by_time:
            said, share = f"bursts of loss held for {lost} of {tried} ms", chain.bad_share
        else:
            said, share = f"{lost} of {tried} packets were lost in bursts", chain.loss
        yield f"{said}; {share:.2%} asks for about {share * tried:.0f}"


def _bursts(
    asked: Direction, tried: int, got: DirectionReport, limits: Thresholds
) -> Iterator[str]:
    """Yield faults of loss in bursts: a wrong share lost in a state, or a wrong share of time in
    the bad state."""
    chain = asked.gilbert_elliott
    if chain is None or got.burst_trials is None or got.burst_lost is None:
        if chain is not None and chain.by_time and got.packets_out:
            yield "no burst of loss followed time, as was asked"
        elif got.burst_trials is not None:
            yield "packets met bursts of loss, and none were asked for"
        return
    if chain.by_time != (got.burst_watched_ms is not None):
        follows = "packets, not time" if chain.by_time else "time, not packets"
        yield f"bursts of loss followed {follows}"
    for state, lost, met, share in (
        ("bad", got.burst_lost, got.burst_trials, chain.loss_bad),
        ("good", got.dropped_loss - got.burst_lost, tried - got.burst_trials, chain.loss_good),
    ):
        low, high = loss_interval(met, share, limits.loss_tail)
        if not low <= lost <= high:
            yield (
                f"{lost} of {met} packets in the {state} state were lost; {share:.2%} asks for "
                f"{low} to {high}"
            )


def _host_loss(asked: Direction, got: DirectionReport, limits: Thresholds) -> Iterator[str]:
    """Yield faults of the loss of each host. The report lists hosts in the network's order; a host
    without loss has no trials."""
    for path, seen in zip(asked.hosts, got.host_loss, strict=False):
        low, high = loss_interval(seen.trials, path.loss, limits.loss_tail)
        if not low <= seen.lost <= high:
            yield (
                f"{seen.lost} of {seen.trials} packets of {path.host} were lost on its way; "
                f"{path.loss:.2%} asks for {low} to {high}"
            )


def _unasked(asked: Direction, got: DirectionReport) -> Iterator[str]:
    """Yield faults for events that happened although the network does not ask for them. Other
    checks judge random loss."""
    for count in COUNTS:
        seen = getattr(got, count.field)
        if seen and count.cause != "loss" and count not in STEP_COUNTS and not count.wanted(asked):
            yield f"{seen} packets were {count.words}, which the network does not ask for"


def _told(got: DirectionReport) -> Iterator[str]:
    if got.told_too_big > got.dropped_mtu:
        yield (
            f"the link told senders of {got.told_too_big} packets that were too long, but dropped "
            f"only {got.dropped_mtu} of them"
        )


def _rate(asked: Direction, got: DirectionReport, limits: Thresholds) -> Iterator[str]:
    if asked.jitter_ms or asked.reorder:
        return  # both change the gaps between packets after the line, which `_line` judges
    realised = got.realised_mbps
    if realised is None or got.busy_bytes < limits.rate_packets * ETHERNET_MTU:
        return
    # A trace bounds the rate from above. Opportunities come in bunches, so they do not bound the
    # rate over short stretches. Lateness shows whether the line kept to the trace's curve.
    peak = asked.trace.peak_mbps if asked.trace else None
    if peak is not None and realised > peak * (1 + limits.rate_error):
        yield f"the realised rate is {realised:.3f} Mbit/s, the trace never exceeds {peak:g}"
    if not asked.rate_mbps:
        return
    # A single late packet at either end of a busy period changes the period's length by this much.
    least_ms = asked.least_ms(got.busy_bytes)
    slack_ms = limits.rate_error * least_ms + (got.lateness_max_us or 0) / 1000
    if abs(got.busy_ms - least_ms) > slack_ms:
        yield f"the realised rate is {realised:.3f} Mbit/s, not {asked.rate_mbps:g}"


def _line(asked: Direction, got: DirectionReport, limits: Thresholds) -> Iterator[str]:
    """Yield faults if the bottleneck took more or less time for packets than requested, even for
    few packets. `punctual` checks how late they left."""
    if got.line_ms is None:
        return
    shaped = bool(asked.rate_mbps or asked.trace)
    if shaped != bool(got.line_bytes) and got.packets_out:
        crossed = "no packet crossed a bottleneck" if shaped else "packets crossed a bottleneck"
        yield f"{crossed}, and {'one was' if shaped else 'none was'} asked for"
    if not (asked.rate_mbps and got.line_bytes):
        return
    least_ms = asked.least_ms(got.line_bytes)
    slack_ms = limits.rate_error * least_ms + got.packets_in * _ROUNDING_MS
    if abs(got.line_ms - least_ms) > slack_ms:
        realised = got.line_bytes * 8 / got.line_ms / 1000 if got.line_ms else float("inf")
        yield (
            f"the line carried {got.line_bytes} bytes at {realised:.3f} Mbit/s, not "
            f"{asked.rate_mbps:g}"
        )


def _delay(asked: Direction, got: DirectionReport, limits: Thresholds) -> Iterator[str]:
    if got.transit_min_ms is None:
        return
    least, most = asked.least_delay_ms, asked.most_delay_ms
    slack = max(limits.delay_error_ms, limits.delay_error_share * asked.delay_ms)
    if got.transit_min_ms < least - limits.clock_slack_ms:
        yield f"a packet passed in {got.transit_min_ms:.3f} ms, the delay is {least:g} ms"
    elif asked.trace or asked.grant:
        return  # the first packet may have waited until an outage ended
    elif got.flight_min_ms is not None:
        if got.flight_min_ms > most + slack:
            took = f"{got.flight_min_ms:.3f} ms beyond the bottleneck"
            yield f"no packet passed in less than {took}, the delay is {most:g} ms"
    elif got.transit_min_ms > most + asked.least_ms(_SMALL) + slack:
        yield f"no packet passed in less than {got.transit_min_ms:.3f} ms, the delay is {most:g} ms"
