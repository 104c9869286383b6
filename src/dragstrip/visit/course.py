"""Measures what the link carried over time: how many bytes in a round trip, and in which pauses no
byte although data was due.

A sender limited by a window sends one window per round trip, however fast the link is. So the
largest number of bytes in a round trip, and how often a round trip nearly reaches it, reveal the
window: flow control's, a server's buffer, or congestion control's.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from dragstrip.model.effects import Side
from dragstrip.model.network import Network
from dragstrip.model.steps import LinkPhase
from dragstrip.model.visit import Timeline, Visit
from dragstrip.visit.intervals import Interval, union
from dragstrip.visit.uploads import uploads

_LEAST_SLOTS = 3
"""Fewest slots in a round trip. With fewer, the round trip's boundaries are too inexact."""
_ALIKE = 0.7
"""Share of the bytes of the fullest round trip from which another one counts as full. A browser may
fill three quarters of a window: Chromium uploads over HTTP/2 in frames of 16 KB."""
_PAUSE_RTTS, _PAUSE_PACKETS = 0.25, 3
"""Least length of a pause: in round trips, and in packets at the link's rate. Both must be
reached."""
_PACKET_BYTES = 1500


def under_way(visit: Visit, side: Side) -> list[Interval]:
    """Return the intervals in which bodies were due: answers from their first byte to their last,
    or uploads."""
    if side == "up":
        return union((u.start_ms, u.received_ms) for u in uploads(visit))
    return union(
        (r.response_start_ms, r.end_ms)
        for r in visit.requests
        if r.response_start_ms is not None and r.end_ms is not None and not r.from_cache
    )


def idle_ms(visit: Visit, network: Network, side: Side) -> float | None:
    """Return the time in ms in which bodies were due in this direction but nothing left the link,
    although it could. Only pauses of at least `_PAUSE_RTTS` and `_PAUSE_PACKETS` count. None
    without a timeline, or if no body was due."""
    timeline, due = _timeline(visit, side), under_way(visit, side)
    if timeline is None or not due:
        return None
    packets_ms = network.direction(side).least_ms(_PAUSE_PACKETS * _PACKET_BYTES)
    least_ms = max(_PAUSE_RTTS * network.least_rtt_ms, packets_ms, timeline.slot_us / 1000)
    out = [(p.start_ms, end) for p, end in _with_ends(network) if side in p.out]
    busy = union([*_busy(timeline, visit.started_us), *out])
    total = 0.0
    for start, end in due:
        at = start
        for begun, over in [*busy, (end, end)]:
            pause = min(begun, end) - at
            if pause >= least_ms:
                total += pause
            at = max(at, min(over, end))
    return total


def flight_bytes(visit: Visit, network: Network, side: Side) -> int | None:
    """Return the most bytes that left the link within one round trip in which bodies were due
    throughout. None without such a round trip or a timeline, if the timeline's slots are too long,
    or if the link changes."""
    return _most(_rounds(visit, network, side))


def flights(visit: Visit, network: Network, side: Side) -> int | None:
    """Return the number of round trips, or of bursts between two pauses, that carried nearly as
    much as `flight_bytes`. A small number means a window that kept growing.

    Bursts count too, because a round trip takes longer than the link's delays where client and
    server compute.
    """
    rounds = _rounds(visit, network, side)
    most = _most(rounds)
    if most is None:
        return None
    bursts = _bursts(visit, network, side)
    return max(_full_rounds(rounds, most), sum(size >= _ALIKE * most for size in bursts))


def _full_rounds(rounds: Sequence[tuple[list[int], int]], most: int) -> int:
    count = 0
    for carried, width in rounds:
        at = 0
        while at < len(carried):
            full = carried[at] >= _ALIKE * most
            count, at = (count + 1, at + width) if full else (count, at + 1)
    return count


def crowd_drops(visit: Visit, network: Network) -> int | None:
    """Return the number of packets that the upstream queue dropped while several connections opened
    at once.

    Drops count from the start of overlapping handshakes until one round trip after their end. None
    without a timeline.
    """
    timeline = _timeline(visit, "up")
    if timeline is None:
        return 0 if visit.link and not visit.link.up.dropped_queue else None
    opening = [
        (r.connect_start_ms, r.connect_end_ms)
        for r in visit.requests
        if r.connect_start_ms is not None and r.connect_end_ms is not None
    ]
    crowds = [
        (start, end + network.longest_rtt_ms)
        for start, end in union(opening)
        if sum(start <= begun <= end for begun, _ in opening) > 1
    ]
    zero_ms, slot_ms = _place(timeline, visit.started_us)
    return sum(
        dropped
        for index, _, dropped in timeline.slots
        if any(s - slot_ms < zero_ms + index * slot_ms <= e for s, e in crowds)
    )


def _with_ends(network: Network) -> Iterator[tuple[LinkPhase, float]]:
    """Yield each phase of a network, and when it ends."""
    phases = network.phases
    yield from zip(phases, [*(p.start_ms for p in phases[1:]), math.inf], strict=True)


def of(
    measure: Callable[[Visit, Network, Side], float | None], side: Side
) -> Callable[[Visit, Network, object], float | None]:
    """Make a metric's measure from a measure that also needs a direction: fix the direction to
    `side`."""
    return lambda visit, network, stack: measure(visit, network, side)


def _most(rounds: Sequence[tuple[list[int], int]]) -> int | None:
    return max((max(carried) for carried, _ in rounds), default=None)


def _rounds(visit: Visit, network: Network, side: Side) -> list[tuple[list[int], int]]:
    """Return the stretches in which bodies were due: for each, the bytes in the round trip that
    begins at each slot, and the number of slots in a round trip."""
    timeline = _timeline(visit, side)
    if timeline is None or network.at:
        return []
    width = int(network.least_rtt_ms * 1000 // timeline.slot_us)
    if width < _LEAST_SLOTS:
        return []
    sizes = {index: size for index, size, _ in timeline.slots}
    zero_ms, slot_ms = _place(timeline, visit.started_us)
    rounds = []
    for start, end in under_way(visit, side):
        first, last = math.ceil((start - zero_ms) / slot_ms), int((end - zero_ms) // slot_ms)
        sums = list(accumulate((sizes.get(i, 0) for i in range(first, last)), initial=0))
        carried = [after - before for before, after in zip(sums, sums[width:], strict=False)]
        if carried:
            rounds.append((carried, width))
    return rounds


def _bursts(visit: Visit, network: Network, side: Side) -> list[int]:
    """Return the bytes of each burst between two pauses of at least a quarter of a round trip,
    while bodies were due."""
    timeline = _timeline(visit, side)
    if timeline is None:
        return []
    zero_ms, slot_ms = _place(timeline, visit.started_us)
    pause = _PAUSE_RTTS * network.least_rtt_ms / slot_ms
    sizes: list[int] = []
    for start, end in under_way(visit, side):
        last = -math.inf
        for index, size, _ in timeline.slots:
            if size and start <= zero_ms + index * slot_ms < end:
                if index - last > pause:
                    sizes.append(0)
                sizes[-1] += size
                last = index
    return sizes


def _busy(timeline: Timeline, started_us: int) -> list[Interval]:
    zero_ms, slot_ms = _place(timeline, started_us)
    return [
        (zero_ms + index * slot_ms, zero_ms + (index + 1) * slot_ms)
        for index, size, _ in timeline.slots
        if size
    ]


def _place(timeline: Timeline, started_us: int) -> tuple[float, float]:
    """Return the timeline's start in ms since the navigation, and the length of a slot in ms."""
    return (timeline.start_us - started_us) / 1000, timeline.slot_us / 1000


def _timeline(visit: Visit, side: Side) -> Timeline | None:
    return visit.link.direction(side).timeline if visit.link else None
