"""Chooses the visit that represents a stack when a single visit is drawn."""

from collections.abc import Sequence

from dragstrip.model.visit import Visit
from dragstrip.results.blocks import observe


def typical(visits: Sequence[Visit], limit_ms: float) -> Visit | None:
    """Return the visit of median page load time (of two, the faster); None without visits.

    A load that failed or timed out counts as `limit_ms`, the client's time limit.
    """

    def load_ms(visit: Visit) -> float:
        seen = observe(visit, "plt_ms", limit_ms)
        return seen.value_ms if seen else limit_ms

    return sorted(visits, key=load_ms)[(len(visits) - 1) // 2] if visits else None
