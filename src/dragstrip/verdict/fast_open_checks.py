"""Checks that TCP Fast Open was in the state that the stack claims, according to the client's
kernel (TCP_INFO)."""

from collections.abc import Iterator

from dragstrip.model.stack import Stack
from dragstrip.model.visit import FastOpen, Reason, Visit
from dragstrip.verdict.request_checks import some


def fast_open(visit: Visit, stack: Stack) -> Iterator[Reason]:
    """Yield reasons if Fast Open differs from what the stack claims. A first visit must send no
    data in the SYN of a host's first connection. A repeat visit must always send data, unless a
    packet to the server was lost. Without Fast Open, no visit may send data in a SYN."""
    first = _first_of_host(visit)
    opened = [c.host for c in visit.fast_open if c.opening == "accepted"]
    if not stack.fast_open:
        if opened:
            yield Reason(
                "stack-drift",
                f"the stack has no TCP Fast Open, but these connections used it: {some(opened)}",
            )
        return
    at_once = [host for host, c in first.items() if c.opening == "accepted"]
    if visit.connection == "first":
        if at_once:
            yield Reason("warm", f"a first visit had cookies of TCP Fast Open: {some(at_once)}")
        return
    if not visit.fast_open:
        yield Reason(
            "stack-drift", "the stack has TCP Fast Open, but no connection reports its state"
        )
    known = first if visit.primed is None else visit.primed
    plain = [h for h, c in first.items() if c.opening != "accepted" and h in known]
    if plain and not _lost_on_the_way(visit):
        yield Reason(
            "stack-drift",
            f"the stack has TCP Fast Open, but the first connection of {some(plain)} had none",
        )


def _first_of_host(visit: Visit) -> dict[str, FastOpen]:
    states: dict[str, FastOpen] = {}
    for connection in sorted(visit.fast_open, key=lambda c: c.start_ms):
        states.setdefault(connection.host, connection)
    return states


def _lost_on_the_way(visit: Visit) -> bool:
    """Return whether packets to the server were lost. A lost SYN is repeated without data (RFC 7413
    section 4.1.3)."""
    up = visit.link.up if visit.link else None
    return up is None or bool(up.dropped or up.reordered)
