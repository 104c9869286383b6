"""Active queue management."""

from typing import Literal

from msgspec import Struct

from dragstrip.model.units import plain


class Aqm(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Active queue management: CoDel (RFC 8289) or FQ-CoDel (RFC 8290). Defaults are the RFCs'.

    A full CoDel drops the newcomer, a full FQ-CoDel half the fattest flow, at most 64 packets (RFC
    8290 section 4.1).
    """

    kind: Literal["codel", "fq_codel"]
    target_ms: float = 5.0
    interval_ms: float = 100.0
    ecn: bool = True
    """Mark packets whose sender understands ECN instead of dropping them."""
    flows: int = 1024
    """Queues of `fq_codel`."""
    quantum_bytes: int = 1514
    """What a queue of `fq_codel` sends in its turn."""

    def __post_init__(self) -> None:
        if self.target_ms <= 0 or self.interval_ms <= 0:
            raise ValueError("target_ms and interval_ms must be above zero")
        if not 1 <= self.flows <= 65_536 or self.quantum_bytes < 1:
            raise ValueError(
                "flows must lie between 1 and 65536, and quantum_bytes must be at least 1"
            )

    @property
    def fair(self) -> bool:
        """Whether flows have their own queues, so that packets of one overtake another's."""
        return self.kind == "fq_codel"

    def describe(self) -> str:
        flows = f", {self.flows} flows, quantum {self.quantum_bytes} B" if self.fair else ""
        return (
            f"{self.kind} target {plain(self.target_ms)} ms, interval {plain(self.interval_ms)} ms"
            f"{flows}, {'ECN' if self.ecn else 'no ECN'}"
        )
