"""A trace: a recorded rate over time, which a direction of a link can play.

`dragstrip.study.traces` reads trace files.
"""

import hashlib
from bisect import bisect_right
from functools import cached_property
from itertools import pairwise

import msgspec
from msgspec import Struct

from dragstrip.model.units import plain

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
