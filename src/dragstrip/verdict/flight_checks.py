"""Did each packet take as long as recorded delays and grants asked at that moment?

The link reports the shortest and the longest flight over time, by the packets' real times. What a
network asks for bounds both. A link that plays another recording, or plays it from another moment,
is found by these bounds.
"""

from collections.abc import Iterator

from dragstrip.model.effects import STAGES, Direction, Side
from dragstrip.model.network import Network
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import DirectionReport, Flights, LinkReport, Reason, Visit

_MOST = 3
"""Faults that a direction's reason names."""
_ZERO_SLACK_MS = 1.0
"""Most by which time 0 may be after the first packet that left, in ms."""


def flown(visit: Visit, network: Network, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons if packets took another time than the network's delay traces and grants say."""
    if visit.link is None:
        return
    for side in STAGES:
        for detail in _side(side, visit.link, network, limits):
            yield Reason("link-drift", f"{side}: {detail}")


def _side(side: Side, link: LinkReport, network: Network, limits: Thresholds) -> Iterator[str]:
    asked, got = network.direction(side), link.direction(side)
    wanted = bool(asked.delay_trace or asked.grant)
    if wanted != bool(got.flights) and got.packets_out:
        told = "followed no recording or schedule" if wanted else "followed a clock"
        yield f"delays {told}, which the network does not ask for"
    if not (wanted and got.flights):
        return
    yield from _zero(got.flights, link)
    faults = list(_slots(side, got.flights, network, got, limits))
    yield from faults[:_MOST]
    if len(faults) > _MOST:
        yield f"{len(faults) - _MOST} more such moments"
    if asked.grant and got.packets_out and not (got.granted or network.at):
        yield "no packet waited for a grant"


def _zero(flights: Flights, link: LinkReport) -> Iterator[str]:
    starts = [t.start_us for t in (link.down.timeline, link.up.timeline) if t]
    late_ms = (flights.zero_us - min(starts)) / 1000 if starts else 0.0
    if late_ms > _ZERO_SLACK_MS:
        yield f"delays are counted from {late_ms:.1f} ms after the first packet"
    zeros = {d.flights.zero_us for d in (link.down, link.up) if d.flights}
    if len(zeros) > 1:
        yield "delays of both directions are counted from different moments"


def _slots(
    side: Side, flights: Flights, network: Network, got: DirectionReport, limits: Thresholds
) -> Iterator[str]:
    slack_ms = limits.clock_slack_ms + (got.lateness_max_us or 0.0) / 1000
    for index, least_us, most_us in flights.slots:
        from_ms = index * flights.slot_us / 1000
        to_ms = from_ms + flights.slot_us / 1000
        least, most = _bounds(side, network, from_ms, to_ms)
        if least_us / 1000 < least - limits.clock_slack_ms - 0.001:
            yield (
                f"a packet took {least_us / 1000:.1f} ms at {from_ms:.0f} to {to_ms:.0f} ms, where "
                f"the network asks for {least:g} ms or more"
            )
        elif most_us / 1000 > most + slack_ms:
            yield (
                f"a packet took {most_us / 1000:.1f} ms at {from_ms:.0f} to {to_ms:.0f} ms, where "
                f"the network asks for {most:g} ms at most"
            )


def _bounds(side: Side, network: Network, from_ms: float, to_ms: float) -> tuple[float, float]:
    """Return the least and the most time in ms of packets that left the bottleneck then. Packets
    keep their order, so one may wait for others that began their way when the delay was longer."""
    directions = [phase.direction(side) for phase in network.phases]
    bounds = [_of(d, from_ms, to_ms) for d in directions]
    least, most = min(b[0] for b in bounds), max(b[1] for b in bounds)
    unsure = directions[0].grant and (network.at or network.down.trace)
    return least, float("inf") if unsure or network.at else most


def _of(asked: Direction, from_ms: float, to_ms: float) -> tuple[float, float]:
    trace = asked.delay_trace
    if trace is None:
        return asked.least_delay_ms, asked.most_delay_ms
    offset_ms, further_ms = asked.trace_offset_ms, asked.further_ms
    until_ms = offset_ms + to_ms + further_ms
    least, _ = trace.between(offset_ms + from_ms, until_ms)
    begin_ms = max(0.0, offset_ms + from_ms - trace.most_ms - asked.delay_ms)
    _, most = trace.between(begin_ms, until_ms)
    return (
        asked.least_delay_ms - trace.least_ms + least,
        asked.most_delay_ms - trace.most_ms + most,
    )
