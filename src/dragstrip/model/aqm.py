"""Active queue management. Each kind is a class here and a file of crates/link/src/model/aqm."""

from typing import ClassVar

from msgspec import Struct

from dragstrip.model.units import plain

_LEAST_UPDATE_MS = 0.1
"""Shortest period of a controller, in ms. A shorter period would keep the link busy."""


class ManagedQueue(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    """What every kind of active queue management has."""

    fair: ClassVar[bool] = False
    """Whether the kind has several queues, so that packets of one queue overtake those of
    another."""
    chance: ClassVar[bool] = False
    """Whether the kind picks packets at random."""

    @property
    def kind(self) -> str:
        return str(self.__struct_config__.tag)

    @property
    def marks(self) -> bool:
        """Whether the queue marks packets whose sender understands ECN."""
        return bool(getattr(self, "ecn", True))

    def describe(self) -> str:
        values = ((name, getattr(self, name)) for name in self.__struct_fields__ if name != "ecn")
        said = [f"{name} {plain(value)}" for name, value in values]
        return f"{self.kind} {', '.join(said)}, {'ECN' if self.marks else 'no ECN'}"

    def _require_update(self, update_ms: float) -> None:
        if update_ms < _LEAST_UPDATE_MS:
            raise ValueError(f"update_ms must be at least {_LEAST_UPDATE_MS}")

    def _require_positive(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} must be above zero")


def _require_turns(flows: int, quantum_bytes: int) -> None:
    if not 1 <= flows <= 65_536 or quantum_bytes < 1:
        raise ValueError("flows must lie between 1 and 65536, and quantum_bytes must be at least 1")


class Codel(ManagedQueue, frozen=True, kw_only=True, tag="codel"):
    """CoDel (RFC 8289). A full queue drops the newcomer. Defaults are the RFC's."""

    target_ms: float = 5.0
    interval_ms: float = 100.0
    ecn: bool = True
    """Mark packets whose sender understands ECN instead of dropping them."""
    flows: int = 1024
    """Number of queues of `fq_codel`."""
    quantum_bytes: int = 1514
    """Bytes that a queue of `fq_codel` sends in its turn."""
    ce_threshold_ms: float | None = None
    """Marks every packet that waited longer than this, as Linux's `ce_threshold` does."""
    ce_threshold_l4s: bool = False
    """Whether `ce_threshold_ms` holds only for scalable senders: ECT(1) and CE (RFC 9331 section
    5.1)."""

    def __post_init__(self) -> None:
        if self.target_ms <= 0 or self.interval_ms <= 0:
            raise ValueError("target_ms and interval_ms must be above zero")
        _require_turns(self.flows, self.quantum_bytes)
        if self.ce_threshold_ms is None and self.ce_threshold_l4s:
            raise ValueError("ce_threshold_l4s is of a threshold: give ce_threshold_ms too")
        if self.ce_threshold_ms is not None and self.ce_threshold_ms < 0:
            raise ValueError("ce_threshold_ms must not be negative")

    @property
    def marks(self) -> bool:
        return self.ecn or self.ce_threshold_ms is not None

    def describe(self) -> str:
        flows = f", {self.flows} flows, quantum {self.quantum_bytes} B" if self.fair else ""
        threshold = ""
        if self.ce_threshold_ms is not None:
            of = " of L4S" if self.ce_threshold_l4s else ""
            threshold = f", marks{of} above {plain(self.ce_threshold_ms)} ms"
        return (
            f"{self.kind} target {plain(self.target_ms)} ms, interval {plain(self.interval_ms)} ms"
            f"{flows}, {'ECN' if self.ecn else 'no ECN'}{threshold}"
        )


class FqCodel(Codel, frozen=True, kw_only=True, tag="fq_codel"):
    """FQ-CoDel (RFC 8290). A full queue drops half of the flow with the most bytes, at most 64
    packets (section 4.1). Defaults are the RFC's."""

    fair: ClassVar[bool] = True


class Pie(ManagedQueue, frozen=True, kw_only=True, tag="pie"):
    """PIE (RFC 8033), which measures delay by timestamps (section 5.2). Defaults are the RFC's."""

    chance: ClassVar[bool] = True
    target_ms: float = 15.0
    """Wait in ms that the controller aims at (QDELAY_REF)."""
    update_ms: float = 15.0
    """Period in ms of the controller (T_UPDATE)."""
    alpha: float = 0.125
    """Gain in 1/s."""
    beta: float = 1.25
    """Gain in 1/s."""
    burst_ms: float = 150.0
    """Length in ms of a burst that passes without drops (MAX_BURST)."""
    ecn: bool = True
    """Mark packets whose sender understands ECN instead of dropping them."""
    mark_share: float = 0.1
    """Drop probability above which packets are dropped even if their sender understands ECN."""

    def __post_init__(self) -> None:
        self._require_positive("target_ms", "burst_ms")
        self._require_update(self.update_ms)
        if self.alpha < 0 or self.beta < 0 or not 0 <= self.mark_share <= 1:
            raise ValueError("alpha and beta must not be negative, and mark_share is a share")


class FqPie(Pie, frozen=True, kw_only=True, tag="fq_pie"):
    """FQ-PIE, as in Linux: a queue under PIE for each flow, served in turns as in FQ-CoDel. A full
    queue drops the newcomer."""

    fair: ClassVar[bool] = True
    flows: int = 1024
    """Number of queues."""
    quantum_bytes: int = 1514
    """Bytes that a queue sends in its turn."""

    def __post_init__(self) -> None:
        super().__post_init__()
        _require_turns(self.flows, self.quantum_bytes)


class Red(ManagedQueue, frozen=True, kw_only=True, tag="red"):
    """RED (Floyd and Jacobson 1993). With `ecn`, packets whose sender understands ECN are marked
    instead of dropped. This holds above `max_bytes` too, as in Linux without `harddrop`."""

    chance: ClassVar[bool] = True
    min_bytes: int = 7_500
    max_bytes: int = 22_500
    max_share: float = 0.1
    """Share of packets dropped or marked just below the upper threshold."""
    weight: float = 0.002
    """Weight of the newest queue length in the average."""
    ecn: bool = False
    """Mark packets whose sender understands ECN instead of dropping them."""

    def __post_init__(self) -> None:
        if not 0 < self.min_bytes < self.max_bytes:
            raise ValueError("min_bytes must be above zero and below max_bytes")
        if not (0 < self.max_share <= 1 and 0 < self.weight <= 1):
            raise ValueError("max_share and weight must lie above 0, and at most at 1")


class DualPi2(ManagedQueue, frozen=True, kw_only=True, tag="dualpi2"):
    """DualPI2 (RFC 9332): a queue for scalable senders (ECT(1) and CE) beside the classic one.
    Defaults are Linux's."""

    fair: ClassVar[bool] = True
    target_ms: float = 15.0
    """Wait in ms that the controller aims at."""
    update_ms: float = 16.0
    alpha: float = 0.16
    """Gain in 1/s."""
    beta: float = 3.2
    """Gain in 1/s."""
    coupling: float = 2.0
    """The factor k: the controller's p' marks or drops packets of scalable senders with probability
    k p', and those of classic senders with p' squared."""
    step_ms: float = 1.0
    """A packet that waited this many ms in the L4S queue may be marked; if `ramp_ms` is 0, it
    is."""
    ramp_ms: float = 0.0
    """The share of marked packets grows from 0 to 1 while the wait grows by this many ms above
    `step_ms`. With 0, the share is a step."""
    classic_percent: int = 10
    """Least share of the line for the classic queue, in percent."""

    def __post_init__(self) -> None:
        self._require_positive("target_ms", "step_ms")
        self._require_update(self.update_ms)
        if self.alpha < 0 or self.beta < 0 or self.ramp_ms < 0:
            raise ValueError("alpha, beta and ramp_ms must not be negative")
        if not (1 <= self.coupling <= 100 and 1 <= self.classic_percent <= 99):
            raise ValueError(
                "coupling must lie between 1 and 100, classic_percent between 1 and 99"
            )


Aqm = Codel | FqCodel | Pie | FqPie | Red | DualPi2
EXAMPLES = (Codel(), FqCodel(ce_threshold_ms=1), Pie(), FqPie(), Red(), DualPi2(ramp_ms=0.4))
"""One of each kind, for tests."""
