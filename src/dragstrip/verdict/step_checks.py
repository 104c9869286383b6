"""Checks that the link changed as asked, and when it was asked to. What each phase did is judged as
a whole link is (`link_checks`). These checks compare the phases with the steps, and the bytes that
left with the rates of the phases."""

from collections.abc import Iterator

from dragstrip.model.effects import STAGES, Side
from dragstrip.model.network import ETHERNET_MTU, Network
from dragstrip.model.steps import LinkPhase
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import LinkReport, PhaseReport, Reason, Visit

_UNSURE_MS = 100.0
"""A step that was due so shortly before the visit's end need not have come."""
_PACKETS = 3
"""Full packets that may cross besides what a rate allows: at both ends of a stretch, and one that
was on the line."""


def stepped(visit: Visit, network: Network, limits: Thresholds) -> Iterator[Reason]:
    """Yield reasons if the link did not change, if it changed at other times than asked, or if the
    bytes that left it show no change."""
    link = visit.link
    if link is None:
        return
    for detail in _changes(visit, link, network, limits):
        yield Reason("link-drift", detail)
    for report, phase, end_us in _with_ends(link, network):
        for side in STAGES:
            for detail in _carried(link, report, phase, network, side, end_us):
                yield Reason("link-drift", f"{side}: {detail}")


def _changes(visit: Visit, link: LinkReport, network: Network, limits: Thresholds) -> Iterator[str]:
    asked = network.phases if network.at else ()
    if len(link.phases) > len(asked):
        more = len(link.phases) - max(len(asked), 1)
        yield f"the link changed {more} times more than the network asks for"
        return
    for phase, report in zip(asked[1:], link.phases[1:], strict=False):
        at_ms = (report.at_us - visit.started_us) / 1000
        if abs(at_ms - phase.start_ms) > limits.step_error_ms:
            yield (f"{_name(phase)} came at {at_ms:.1f} ms (limit {limits.step_error_ms:g} ms off)")
    for phase in asked[max(len(link.phases), 1) :]:
        if phase.start_ms < _end_ms(visit) - _UNSURE_MS:
            yield f"{_name(phase)} never came"


def _end_ms(visit: Visit) -> float:
    """Return a time in ms, since the navigation, at which the visit still ran."""
    ends = [r.end_ms for r in visit.requests if r.end_ms is not None]
    if visit.plt_ms is not None:
        return max(visit.plt_ms, *ends, 0.0)
    before_ms = visit.overhead.before_navigation_ms if visit.overhead else 0.0
    whole_ms = visit.host.wall_ms - before_ms if visit.host else 0.0
    return max(*ends, whole_ms, 0.0)


def _name(phase: LinkPhase) -> str:
    what = "the end of an outage" if phase.step is None else f"at[{phase.step}]"
    return f"{what}, asked for at {phase.start_ms:g} ms,"


def _with_ends(
    link: LinkReport, network: Network
) -> Iterator[tuple[PhaseReport, LinkPhase, int | None]]:
    """Yield each phase after the first, as seen and as asked for, and its end; None for the
    last."""
    ends = [report.at_us for report in link.phases[1:]]
    every = zip(link.phases, network.phases, [*ends, None], strict=False)
    for index, (report, phase, end_us) in enumerate(every):
        if index:
            yield report, phase, end_us


def _carried(
    link: LinkReport,
    report: PhaseReport,
    phase: LinkPhase,
    network: Network,
    side: Side,
    end_us: int | None,
) -> Iterator[str]:
    """Yield faults if more left the link in a phase than its line carries. What had crossed the
    line before may still arrive, within the longest delay."""
    timeline, asked = link.direction(side).timeline, phase.direction(side)
    rate = 0.0 if side in phase.out else asked.rate_mbps
    if timeline is None or rate is None or asked.trace:
        return
    before = (p for p in network.phases if p.start_ms <= phase.start_ms)
    delays = (p.direction(side).most_delay_ms for p in before)
    from_us = report.at_us + 1000 * max(delays) + timeline.slot_us
    inside = [
        (at_us, size)
        for index, size, _ in timeline.slots
        if size
        and (at_us := timeline.start_us + index * timeline.slot_us) >= from_us
        and (end_us is None or at_us + timeline.slot_us <= end_us)
    ]
    if not inside:
        return
    left = sum(size for _, size in inside)
    lasted_us = inside[-1][0] + timeline.slot_us - inside[0][0]
    # Mbit/s times us are bits.
    most = rate * lasted_us / 8 + (_PACKETS * ETHERNET_MTU if rate else 0)
    if left > most:
        what = "in an outage" if not rate else f"at {rate:g} Mbit/s, which carry {most:.0f}"
        yield (
            f"{left} bytes left the link within {lasted_us / 1000:.0f} ms {what}, after "
            f"{_name(phase).rstrip(',')}"
        )
