"""Checks that ECN was in the state that the stack claims, by the marks of the packets on the
link."""

from collections.abc import Iterator

from dragstrip.model.stack import Stack
from dragstrip.model.visit import Reason, Visit


def ecn(visit: Visit, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if packets have the wrong ECN marks. Without ECN, no packet of a server may be
    marked as ECN-capable. With ECN, all QUIC packets must be marked so, and all TCP packets with
    data.

    TCP need not use ECN if a packet to the server was lost: a SYN is repeated without ECN (RFC 3168
    section 6.1.1.1).
    """
    down = visit.link.down if visit.link else None
    if down is None or down.ect is None or "ecn" in stack.serving.own.get(stack.transport, ()):
        return
    if not stack.ecn:
        if down.ect:
            yield Reason(
                "stack-drift", f"the stack has no ECN, but {down.ect} packets were capable of it"
            )
    elif stack.transport == "quic" and stack.discovery == "direct":
        if 2 * down.ect < down.packets_out:
            yield Reason(
                "stack-drift",
                f"the stack has ECN, but only {down.ect} of {down.packets_out} packets were "
                "capable of it: the browser does not confirm the marks",
            )
    elif not down.ect and visit.served and not _lost_on_the_way(visit):
        yield Reason("stack-drift", "the stack has ECN, but no packet was capable of it")


def _lost_on_the_way(visit: Visit) -> bool:
    up = visit.link.up if visit.link else None
    return up is None or bool(up.dropped or up.reordered)
