"""Checks that the client's processor was as slow as the study asks."""

from collections.abc import Iterator

from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, Visit


def slowed(visit: Visit, asked: float, limits: Thresholds) -> Iterator[Reason]:
    """Yield a reason if the client's slow-down differs from the requested one. A fixed script
    measures it: the slower the client, the longer the script takes.

    The script runs in the page's own process once the load has ended. After a load that did not
    end, the page may be too busy for the script.
    """
    if asked == 1 or visit.outcome != "loaded":
        return
    if visit.cpu_slowdown is None:
        yield Reason("device-drift", f"nothing shows that the client was {asked:g} times slower")
    elif abs(visit.cpu_slowdown / asked - 1) > limits.slowdown_error:
        yield Reason(
            "device-drift",
            f"the client was {visit.cpu_slowdown:.1f} times slower, not {asked:g} times (limit "
            f"{limits.slowdown_error:.0%} more or less)",
        )
