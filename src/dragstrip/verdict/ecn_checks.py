"""Checks that ECN was in the state that the stack claims, by the marks of the packets on the
link."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from dragstrip.model.stack import Stack
from dragstrip.model.visit import FarEnd, Reason, Visit

_HTTP, _HTTPS = 80, 443


def ecn(visit: Visit, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if packets have the wrong ECN marks. Without ECN, no packet of a server may be
    marked as ECN-capable. With ECN, all QUIC packets must be marked so, and all TCP packets with
    data.

    A QUIC sender may stop if the client does not confirm the marks (RFC 9000 section 13.4.2), but
    then the stack did not run. TCP need not use ECN if a packet to the server was lost: a SYN is
    repeated without ECN (RFC 3168 section 6.1.1.1).
    """
    down = visit.link.down if visit.link else None
    if down is None or down.ect is None or "ecn" in stack.serving.own.get(stack.transport, ()):
        return
    lost = _lost_on_the_way(visit)
    ends = _of_servers(visit, stack)
    if ends is None:
        yield from _in_all(visit, stack, down.ect, down.packets_out, lost=lost)
        return
    packets = sum(end.packets for end in ends)
    ect0, ect1 = sum(end.ect0 or 0 for end in ends), sum(end.ect1 for end in ends)
    yield from _in_all(visit, stack, ect0 + ect1, packets, lost=lost)
    asked, other = ("ECT(1)", ect0) if stack.ecn == "l4s" else ("ECT(0)", ect1)
    if stack.ecn and other:
        wrong = "ECT(0)" if asked == "ECT(1)" else "ECT(1)"
        yield Reason("stack-drift", f"the stack sends {asked}, but {other} packets came as {wrong}")
    classic = sum(end.classic_ecn for end in ends)
    accurate = sum(end.accurate_ecn for end in ends)
    if stack.ecn == "accurate" and classic and not lost:
        yield Reason(
            "stack-drift",
            f"the stack has accurate ECN, but {classic} connections agreed to RFC 3168's",
        )
    elif stack.ecn is True and accurate:
        yield Reason(
            "stack-drift", f"the stack has RFC 3168's ECN, but {accurate} connections AccECN"
        )


def _in_all(
    visit: Visit, stack: Stack, capable: int, packets: int, *, lost: bool
) -> Iterator[Reason]:
    """Yield reasons if too few or too many of a server's packets are capable of ECN."""
    if not stack.ecn:
        if capable:
            yield Reason(
                "stack-drift", f"the stack has no ECN, but {capable} packets were capable of it"
            )
    elif stack.transport == "quic" and stack.discovery == "direct":
        if 2 * capable < packets:
            yield Reason(
                "stack-drift",
                f"the stack has ECN, but only {capable} of {packets} packets were "
                "capable of it: the browser does not confirm the marks",
            )
    elif not capable and visit.served and not lost:
        yield Reason("stack-drift", "the stack has ECN, but no packet was capable of it")


def _of_servers(visit: Visit, stack: Stack) -> list[FarEnd] | None:
    """Return the traffic of the page's servers over the stack's transport, without background load;
    without ECN, over either transport. None if the capsule is older than the counts."""
    ends = visit.link.down.far_ends if visit.link else None
    if ends is None or any(end.ect0 is None for end in ends):
        return None
    ports = {_HTTPS, *(_port(served.url) for served in visit.served)}
    own = "udp" if stack.transport == "quic" else "tcp"
    which = {own} if stack.ecn else {"tcp", "udp"}
    return [end for end in ends if end.transport in which and end.port in ports]


def _port(url: str) -> int:
    parts = urlsplit(url)
    return parts.port or (_HTTP if parts.scheme == "http" else _HTTPS)


def _lost_on_the_way(visit: Visit) -> bool:
    up = visit.link.up if visit.link else None
    return up is None or bool(up.dropped or up.reordered)
