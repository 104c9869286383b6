"""From where on a visit is no longer believed. Defaults and reasons: design decisions."""

from msgspec import Struct


class Thresholds(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Limits of the verdict. A report prints the ones that were used."""

    miss_share: float = 0.05
    """Share of requests that the recording may lack, beyond those it lacked in the rehearsal."""
    loss_tail: float = 1e-6
    """A realised loss less probable than this, on either side, is not the loss asked for."""
    rate_error: float = 0.02
    """Relative error of the realised rate."""
    rate_packets: int = 60
    """The rate is judged once the bottleneck sent this many full packets back to back."""
    delay_error_ms: float = 1.0
    delay_error_share: float = 0.02
    """The least transit may exceed the delay by the larger of these two."""
    lateness_p99_ms: float = 1.0
    lateness_p99_rtt_share: float = 0.02
    """p99 lateness of the link may reach the larger of these two."""
    steal_share: float = 0.02
    """Share of CPU time the hypervisor took away."""
    picture_share: float = 0.1
    """Share of the final picture that may differ from the page's reference."""
    clock_slack_ms: float = 0.2
    """Allowance for rounding of browser timestamps in every check against physics."""
