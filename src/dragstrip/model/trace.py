"""Traces: a recorded rate or delay over time, which a direction of a link can play.

`dragstrip.study.traces` reads files of rates, `dragstrip.study.tracefiles.delays` those of delays.
"""

import hashlib
from bisect import bisect_right
from functools import cached_property
from itertools import pairwise
from math import floor

import msgspec
from msgspec import Struct

from dragstrip.model.units import plain

MOST_DELAY_MS = 3_600_000
"""Longest delay in ms that the link takes."""
OPPORTUNITY_BYTES = 1500
"""Bytes that one opportunity of a Mahimahi trace carries."""


class Trace(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """A recorded rate, either as opportunities or as steps. A study contains the whole trace, and
    so does its capsule."""

    name: str
    opportunities_ms: tuple[int, ...] = ()
    """Times in ms, ascending, at which up to 1500 bytes may leave at once. After the last time the
    trace loops."""
    steps: tuple[tuple[float, float], ...] = ()
    """Pairs (second, Mbit/s) from 0 s on: the rate holds until the next step. The last step only
    marks the end of the trace, which then loops."""

    def __post_init__(self) -> None:
        if bool(self.opportunities_ms) == bool(self.steps):
            raise ValueError("a trace has either opportunities or steps")
        times = self.opportunities_ms or [at for at, _ in self.steps]
        if any(b < a for a, b in pairwise(times)):
            raise ValueError("a trace must not go back in time")
        if times[0] < 0 or times[-1] <= 0:
            raise ValueError("a trace begins at 0 or later, and ends after its beginning")
        if self.steps:
            if self.steps[0][0] != 0 or any(b - a < 1e-6 for a, b in pairwise(times)):
                raise ValueError(
                    "steps begin at 0 s, and each is at least 1 us after the one before"
                )
            rates = [rate for _, rate in self.steps[:-1]]
            if not all(0 <= rate <= 1e6 for rate in rates) or max(rates) < 1e-3:
                raise ValueError(
                    "rates must lie between 0 and 1000000 Mbit/s, and one must reach 0.001"
                )

    @property
    def lap_ms(self) -> float:
        """Length of the trace in ms."""
        return self.opportunities_ms[-1] if self.opportunities_ms else self.steps[-1][0] * 1000

    @property
    def lap_bytes(self) -> float:
        """Bytes that one pass of the trace carries."""
        if self.opportunities_ms:
            return len(self.opportunities_ms) * OPPORTUNITY_BYTES
        return self._carried[-1]

    @property
    def mean_mbps(self) -> float:
        return self.lap_bytes * 8 / self.lap_ms / 1000

    @property
    def peak_mbps(self) -> float | None:
        """Highest rate of a step in Mbit/s; None for opportunities, which have no momentary
        rate."""
        return max(rate for _, rate in self.steps[:-1]) if self.steps else None

    @property
    def digest(self) -> str:
        """First 12 hex digits of the SHA-256 of the trace's opportunities or steps."""
        fields = [self.opportunities_ms, self.steps]
        return hashlib.sha256(msgspec.json.encode(fields)).hexdigest()[:12]

    def bytes_until(self, at_ms: float) -> float:
        """Return the bytes that a line which is never idle carries in the first `at_ms` of the
        trace."""
        laps, into_ms = divmod(at_ms, self.lap_ms)
        if self.opportunities_ms:
            done = laps * len(self.opportunities_ms) + bisect_right(self.opportunities_ms, into_ms)
            return done * OPPORTUNITY_BYTES
        return laps * self.lap_bytes + self._into(into_ms)

    def least_ms(self, size: float) -> float:
        """Return the least time in ms in which the trace carries `size` bytes, from any start."""
        if self.peak_mbps is not None:
            return size * 8 / self.peak_mbps / 1000
        whole = -(-int(size) // OPPORTUNITY_BYTES)
        laps, rest = divmod(max(whole - 1, 0), len(self.opportunities_ms))
        twice = [*self.opportunities_ms, *(self.lap_ms + at for at in self.opportunities_ms)]
        spans = (twice[i + rest] - twice[i] for i in range(len(self.opportunities_ms)))
        return laps * self.lap_ms + min(spans)

    def scaled(self, share: float) -> "Trace":
        """Return the trace with this share of its rates: each rate, or this share of the
        opportunities. The share is above 0, at most 1."""
        if not 0 < share <= 1:
            raise ValueError(f"a share of the rates lies above 0 and up to 1, not {plain(share)}")
        name = f"{plain(share * 100)} % of {self.name}"
        if self.steps:
            steps = tuple((at, rate * share) for at, rate in self.steps)
            return Trace(name=name, steps=steps)
        # The last one ends the lap, so it stays.
        last = len(self.opportunities_ms)
        kept = [
            at
            for number, at in enumerate(self.opportunities_ms, 1)
            if number == last or floor(number * share) > floor((number - 1) * share)
        ]
        return Trace(name=name, opportunities_ms=tuple(kept))

    def describe(self) -> str:
        return f"{plain(self.mean_mbps)} Mbit/s on average (trace {self.name}, {self.digest})"

    @cached_property
    def _carried(self) -> list[float]:
        """Bytes carried before the start of each step."""
        carried = [0.0]
        for (begin, rate), (end, _) in pairwise(self.steps):
            carried.append(carried[-1] + (end - begin) * rate * 125_000)
        return carried

    def _into(self, at_ms: float) -> float:
        at = bisect_right(self.steps, at_ms / 1000, key=lambda step: step[0]) - 1
        begin, rate = self.steps[at]
        return self._carried[at] + (at_ms / 1000 - begin) * rate * 125_000


class DelayTrace(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, dict=True):
    """A recorded one-way delay. A study contains the whole trace, and so does its capsule."""

    name: str
    steps: tuple[tuple[float, float], ...]
    """Pairs (second, ms) from 0 s on: the delay holds until the next step. The last step only marks
    the end of the trace, which then loops."""

    def __post_init__(self) -> None:
        times = [at for at, _ in self.steps]
        if len(times) < 2:
            raise ValueError("a delay trace needs two steps or more: the last one ends it")
        if times[0] != 0 or not all(b - a >= 1e-6 for a, b in pairwise(times)):
            raise ValueError("steps begin at 0 s, and each is at least 1 us after the one before")
        if times[-1] > 1e6:
            raise ValueError("a delay trace ends within 1000000 s")
        if not all(0 <= delay <= MOST_DELAY_MS for _, delay in self.steps):
            raise ValueError(f"delays must lie between 0 and {MOST_DELAY_MS} ms")

    @property
    def lap_ms(self) -> float:
        """Length of the trace in ms."""
        return self.steps[-1][0] * 1000

    @cached_property
    def least_ms(self) -> float:
        return min(self._delays)

    @cached_property
    def most_ms(self) -> float:
        return max(self._delays)

    @cached_property
    def mean_ms(self) -> float:
        lasting = ((b - a) * delay for (a, delay), (b, _) in pairwise(self.steps))
        return sum(lasting) / self.steps[-1][0]

    @property
    def digest(self) -> str:
        """First 12 hex digits of the SHA-256 of the trace's steps."""
        return hashlib.sha256(msgspec.json.encode(self.steps)).hexdigest()[:12]

    def between(self, from_ms: float, to_ms: float) -> tuple[float, float]:
        """Return the least and the most delay in ms from one time to another, both after the
        trace's first start."""
        if to_ms - from_ms >= self.lap_ms:
            return self.least_ms, self.most_ms
        first, last = self._step_at(from_ms), self._step_at(to_ms)
        delays = self._delays
        met = delays[first : last + 1] if first <= last else delays[first:] + delays[: last + 1]
        if first == last and to_ms % self.lap_ms < from_ms % self.lap_ms:
            met = delays
        return min(met), max(met)

    def turned(self, offset_ms: float) -> "DelayTrace":
        """Return the trace that begins at `offset_ms` of this one."""
        into = offset_ms % self.lap_ms / 1000
        if not into:
            return self
        first, lap = self._step_at(offset_ms), self.steps[-1][0]
        later = [(at - into, delay) for at, delay in self.steps[first + 1 : -1]]
        earlier = [(at + lap - into, delay) for at, delay in self.steps[: first + 1]]
        steps = [(0.0, self.steps[first][1]), *later, *earlier, (lap, 0.0)]
        kept = [a for a, b in pairwise(steps) if b[0] - a[0] >= 1e-6]
        return DelayTrace(name=self.name, steps=((0.0, kept[0][1]), *kept[1:], (lap, 0.0)))

    def describe(self) -> str:
        return (
            f"{plain(self.least_ms)} to {plain(self.most_ms)} ms, {plain(self.mean_ms)} on average "
            f"(delay trace {self.name}, {self.digest})"
        )

    @cached_property
    def _delays(self) -> tuple[float, ...]:
        return tuple(delay for _, delay in self.steps[:-1])

    def _step_at(self, at_ms: float) -> int:
        into = at_ms % self.lap_ms / 1000
        return bisect_right(self.steps, into, 0, len(self.steps) - 1, key=lambda s: s[0]) - 1
