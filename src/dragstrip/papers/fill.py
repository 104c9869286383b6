"""Fill a time with cells: those that fit, and then more where visits take less than planned."""

import time
from collections.abc import Callable, Sequence

from dragstrip.papers.campaign import Part

LEAST_LEFT_S = 60.0
"""What starts and calibration leave no room for a cell in."""


def fill(
    plan: Callable[[float], Sequence[Part]],
    run: Callable[[Sequence[Part], float], bool],
    unseen: Callable[[Sequence[Part]], Sequence[Part]],
    budget_s: float,
    *,
    tell: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Run what `plan` finds for the budget, and for what is left of it at the pace so far.

    `run` makes the visits of parts until a time of the clock and says whether it made them all, as
    this does. `unseen` leaves of parts the cells that were never run.
    """
    until, planned_s = clock() + budget_s, budget_s
    parts = plan(planned_s)
    while True:
        new_s = sum(part.seconds for part in unseen(parts))
        began = clock()
        if not run(parts, until):
            return False
        now = clock()
        left_s = until - now
        if not new_s or left_s < LEAST_LEFT_S:
            return True
        planned_s += left_s * new_s / (now - began)
        parts = plan(planned_s)
        if not (more := sum(len(part.cells) for part in unseen(parts))):
            return True
        tell(f"{left_s / 60:.0f} min are left, for {more} more cells")
