"""Shows the traffic of both sides of a difference, and the causes that this traffic points to.

Evidence is not attribution: `dragstrip.results.compare.attribution` finds by experiment the effects
of properties that can be changed alone. For other properties, such as a server's buffers, there is
only this evidence.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import polars as pl
from msgspec import Struct

from dragstrip.model.effects import Side
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.results.observed import Observed

SIGNS = (
    *("wait_ms", "server_ms", "down_flight_bytes", "down_flights", "down_idle_ms", "window_bytes"),
    *("upload_ms", "up_flight_bytes", "up_flights", "up_idle_ms"),
    *("down_lost", "declared_lost", "retransmitted"),
)
"""Metrics in the order in which they are shown."""
_ROUNDS = 3
"""Fewest round trips that a window must fill to count as no longer growing."""
_FULL = 0.8
"""Share of the link's capacity that a full round trip carried at least."""
_LONG = 0.3
"""Share of the page load time from which full round trips matter."""
_NEAR = 0.25
"""Largest relative difference between a round trip's bytes and a window for the two to match."""
_FEW_LOST = 3
_LATER_MS, _LATER_SHARE = 5.0, 0.05
"""Least delay of answers that matters: in ms, and as a share of the page load time."""

Cause = Literal["window", "losses", "spurious", "server"]
_Values = Mapping[str, float | None]


class Sign(Struct, frozen=True, kw_only=True):
    """A metric on both sides: medians over the visits that count; None if no visit reports it."""

    metric: str
    a: float | None
    b: float | None


class Pointer(Struct, frozen=True, kw_only=True):
    """A sign of traffic that points to a cause on one side.

    ``window``: round trips in this direction carried at most `size` bytes, `times` times.
    ``losses``: the link dropped `times` packets more than for the other stack. ``spurious``: the
    sender declared `times` packets lost that the link delivered. ``server``: answers began `ms`
    later than for the other stack.
    """

    stack: str
    cause: Cause
    side: Side = "down"
    size: int | None = None
    fits: int | None = None
    """Bytes that the link carries in a round trip; None if the link has no rate limit."""
    granted: int | None = None
    """The flow-control window that matches `size`; None if unknown."""
    congestion: int | None = None
    """The sender's congestion window in bytes at the end; None if unknown."""
    times: int | None = None
    ms: float | None = None
    lost: int | None = None
    """Packets that the link dropped in this direction."""


class Evidence(Struct, frozen=True, kw_only=True):
    signs: tuple[Sign, ...]
    pointers: tuple[Pointer, ...]


def evidence(seen: Observed, network: Network, a: Stack, b: Stack) -> Evidence:
    """Return the evidence of a cell's visits that count. A side without such visits has no
    evidence."""
    both = [_medians(seen.stacks[stack.name]) for stack in (a, b)]
    signs = (Sign(metric=m, a=both[0][m], b=both[1][m]) for m in SIGNS)
    pointers: list[Pointer] = []
    for stack, own, other in ((a, both[0], both[1]), (b, both[1], both[0])):
        for look in _LOOKS:
            pointers += look(stack, own, other, network)
    return Evidence(
        signs=tuple(s for s in signs if s.a is not None or s.b is not None),
        pointers=tuple(pointers),
    )


def _medians(visits: pl.DataFrame) -> _Values:
    named = ("plt_ms", *SIGNS)
    middle = visits.select(pl.col(name).cast(pl.Float64).median() for name in named)
    return middle.row(0, named=True)


def _window(stack: Stack, own: _Values, other: _Values, network: Network) -> Iterator[Pointer]:
    """Yield each direction in which round trips stopped growing below what the link carries. A link
    that changes has no round trip to measure by."""
    sides: tuple[Side, ...] = ("down", "up")
    for side in sides:
        size, times = own[f"{side}_flight_bytes"], own[f"{side}_flights"]
        if not (size and times and own["plt_ms"]):
            continue
        second_ms = network.direction(side).least_ms(1e6)
        fits = round(1e6 * network.least_rtt_ms / second_ms) if second_ms else None
        long = times * network.least_rtt_ms >= _LONG * own["plt_ms"]
        if long and times >= _ROUNDS and (fits is None or size < _FULL * fits):
            down = side == "down"
            yield Pointer(
                stack=stack.name,
                cause="window",
                side=side,
                size=round(size),
                fits=fits,
                granted=None if down else _granted(stack, size),
                congestion=_whole(own["window_bytes"]) if down else None,
                times=round(times),
                lost=_whole(own["down_lost"]) if down else None,
            )


def _granted(stack: Stack, size: float) -> int | None:
    """Return the flow-control window of our origin, if it matches an upload's bytes per round trip;
    otherwise None."""
    granted = stack.flow_window_bytes
    known = "flow_window_bytes" not in stack.own and stack.protocol != "h1"
    return granted if known and abs(size - granted) < _NEAR * granted else None


def _whole(value: float | None) -> int | None:
    return None if value is None else round(value)


def _losses(stack: Stack, own: _Values, other: _Values, network: Network) -> Iterator[Pointer]:
    lost, less = own["down_lost"], other["down_lost"]
    if lost is not None and less is not None and lost - less >= _FEW_LOST:
        yield Pointer(stack=stack.name, cause="losses", times=round(lost - less))


def _spurious(stack: Stack, own: _Values, other: _Values, network: Network) -> Iterator[Pointer]:
    declared, lost = own["declared_lost"], own["down_lost"]
    if declared is not None and lost is not None and declared - lost >= _FEW_LOST:
        yield Pointer(stack=stack.name, cause="spurious", times=round(declared - lost))


def _server(stack: Stack, own: _Values, other: _Values, network: Network) -> Iterator[Pointer]:
    late, sooner = own["wait_ms"], other["wait_ms"]
    if late is None or sooner is None or not own["plt_ms"]:
        return
    by_ms = late - sooner
    if by_ms >= max(_LATER_MS, _LATER_SHARE * own["plt_ms"]):
        yield Pointer(stack=stack.name, cause="server", ms=by_ms)


_Look = Callable[[Stack, _Values, _Values, Network], Iterator[Pointer]]
_LOOKS: tuple[_Look, ...] = (_window, _losses, _spurious, _server)
