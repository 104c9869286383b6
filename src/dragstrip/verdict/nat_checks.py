"""Checks that the NAT at the client's end lost its mappings when it was asked to, and only then.
The link reports under which address and port each UDP flow appeared. The origin logs where it last
saw each client, and when requests came."""

from collections.abc import Iterator

from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.steps import LinkPhase
from dragstrip.model.visit import Connection, LinkReport, PhaseReport, Reason, Visit
from dragstrip.verdict.request_checks import some

_SLACK_MS = 50.0
"""A server may log a request so long after its packet came, in ms."""


def rebound(visit: Visit, network: Network, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if clients' flows appeared to the origin under other addresses or ports than
    the network asks for."""
    if visit.link is None:
        return
    link = visit.link
    pairs = list(zip(link.phases, network.phases, strict=False)) if network.at else []
    for report in link.phases if not network.at else ():
        pairs.append((report, LinkPhase(start_ms=0.0, down=network.down, up=network.up)))
    for report, phase in pairs:
        seen = report.rebinding.what if report.rebinding else None
        if seen != phase.rebind:
            what = f"another {seen}" if seen else "no other port or address"
            yield Reason(
                "link-drift",
                f"from {phase.start_ms:g} ms on the NAT gave UDP {what}, and the network asks for "
                f"{f'another {phase.rebind}' if phase.rebind else 'none'}",
            )
            return
    places = [
        f"connection {c.id} at {c.transport.client_at}"
        for c in visit.connections
        if c.transport and c.transport.client_at and not _placed(c, pairs, stack)
    ]
    if places:
        yield Reason(
            "link-drift",
            f"the origin saw clients where the NAT had not put them: {some(places)}",
        )
    yield from _went_on(visit, link, pairs, stack)
    yield from _did_not_follow(visit, pairs, stack)


def _placed(
    connection: Connection, pairs: list[tuple[PhaseReport, LinkPhase]], stack: Stack
) -> bool:
    """Return whether the client may be seen there: where it was accepted, where a mapping led
    since, or at another port if it may move."""
    assert connection.transport
    at = connection.transport.client_at or ""
    mappings = [pair for report, _ in pairs for pair in _mappings(report)]
    if any(at == seen for _, seen in mappings):
        return True
    host, _, port = at.rpartition(":")
    own = {place.rpartition(":")[0] for place, _ in mappings}
    return (stack.migration or int(port) == connection.client_port) and host in (own or {host})


def _went_on(
    visit: Visit, link: LinkReport, pairs: list[tuple[PhaseReport, LinkPhase]], stack: Stack
) -> Iterator[Reason]:
    """Yield a reason if requests came over connections that had lost their mappings, later than any
    packet that was still on its way."""
    opened = {c.id: c for c in visit.connections}
    for report, phase in pairs:
        if phase.rebind is None:
            continue
        late_us = report.at_us + 1000 * (_longest_ms(link, pairs) + _SLACK_MS)
        lost = []
        for served in visit.served:
            connection = opened.get(served.connection)
            if connection is None or connection.t_us >= report.at_us or served.t_us <= late_us:
                continue
            quic = served.protocol == "h3"
            follows = stack.migration or "migration" in stack.own
            if (quic and not follows) or (not quic and phase.drops_tcp):
                lost.append(served.url)
        if lost:
            yield Reason(
                "link-drift",
                f"requests came over connections whose mappings the NAT had lost at "
                f"{phase.start_ms:g} ms: {some(lost)}",
            )


def _did_not_follow(
    visit: Visit, pairs: list[tuple[PhaseReport, LinkPhase]], stack: Stack
) -> Iterator[Reason]:
    """Yield a reason if an origin with migration got requests through a new mapping, and did not
    see the client there."""
    if not stack.migration:
        return
    last = next((report for report, phase in reversed(pairs) if phase.rebind), None)
    if last is None:
        return
    late_us = last.at_us + 1000 * (_longest_ms(visit.link, pairs) + _SLACK_MS)
    went_on = {s.connection for s in visit.served if s.t_us > late_us}
    stayed = [
        f"connection {c.id}"
        for c in visit.connections
        if c.transport
        and c.transport.client_at
        and c.t_us < last.at_us
        and c.id in went_on
        and not any(c.transport.client_at == seen for _, seen in _mappings(last))
    ]
    if stayed:
        yield Reason(
            "link-drift", f"the origin saw no new place of clients that went on: {some(stayed)}"
        )


def _longest_ms(link: LinkReport | None, pairs: list[tuple[PhaseReport, LinkPhase]]) -> float:
    """Return the longest time in ms that a packet to the origin may have been in the link."""
    delays = (phase.up.most_delay_ms + phase.up.least_ms(1500) for _, phase in pairs)
    return max(delays) + (link.up.queue_max_ms if link else 0.0)


def _mappings(report: PhaseReport) -> tuple[tuple[str, str], ...]:
    return report.rebinding.mappings if report.rebinding else ()
