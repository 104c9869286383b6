"""A link's performance before a study, compared with its settings."""

from typing import Literal

from msgspec import Struct

from dragstrip.model.effects import Side

Quantity = Literal["round trip", "rate", "burst", "queue depth", "loss"]


class Tolerance(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits within which a measured link counts as the requested link. Decision 0012 gives the
    reasons."""

    rtt_ms: float = 1.0
    rtt_share: float = 0.02
    """Share of the configured round trip by which the measured one may exceed it. The limit is
    `rtt_ms` if that is more."""
    rate_share: float = 0.02
    burst_ms: float = 20.0
    """Time in ms by which 99 % of packets may be ahead of the line rate, plus the time of two
    packets."""
    queue_ms: float = 2.0
    """Time in ms by which the measured depth of the queue may differ, plus the time of two
    packets."""
    loss_tail: float = 1e-6
    """Probability of each tail: a measured loss in a tail does not fit the requested loss."""


class Reading(Struct, frozen=True, kw_only=True):
    """One line of a calibration. `measured` is None if nothing could be measured; `note` says
    why."""

    network: str
    side: Side | None
    """The direction; None if the reading concerns both."""
    transport: Literal["tcp", "udp"]
    quantity: Quantity
    unit: str
    asked: float | None
    measured: float | None = None
    good: bool = True
    note: str = ""

    @property
    def error(self) -> float | None:
        if self.measured is None or self.asked is None:
            return None
        return self.measured - self.asked

    @property
    def verdict(self) -> str:
        if self.measured is None:
            return "skipped"
        return "good" if self.good else "out of tolerance"

    def describe(self) -> str:
        """Say the reading in words: ``down udp rate: asked 10.5 Mbit/s, measured 10.499``."""
        what = " ".join(filter(None, (self.side, self.transport, self.quantity)))
        return f"{what}: asked {self.asked:g} {self.unit}, measured {self.measured:.4g}"


class Calibration(Struct, frozen=True, kw_only=True):
    """Readings of several networks, taken one after the other."""

    readings: tuple[Reading, ...]
    tolerance: Tolerance
    took_s: float
    realtime: bool
    steal_share: float | None = None

    @property
    def good(self) -> bool:
        return all(r.good for r in self.readings)

    @property
    def networks(self) -> frozenset[str]:
        return frozenset(r.network for r in self.readings)
