"""Fills a time limit with cells, and adds more cells if visits take less time than planned."""

import time
from collections.abc import Callable, Sequence

from dragstrip_papers.campaign.plan import Cells, Part, beyond

LEAST_LEFT_S = 60.0
"""Least time in s that must be left to add cells. In less time, starting and calibrating leave no
room for a cell."""


def fill(
    parts: Sequence[Part],
    plan: Callable[[float, Cells], Sequence[Part]],
    run: Callable[[Sequence[Part], float], bool],
    present: Callable[[], Cells],
    budget_s: float,
    *,
    tell: Callable[[str], None] = lambda _: None,
    clock: Callable[[], float] = time.monotonic,
) -> bool:
    """Run the parts. Then run the parts that `plan` finds for the time that is left, at the pace so
    far, until it finds none.

    `plan` gets the seconds that are left and the cells that are `present`. `run` makes the visits
    of parts until a given time; like this function, it returns whether it made all of them.
    """
    until = clock() + budget_s
    new = beyond(parts, present())
    while True:
        began = clock()
        if not run(parts, until):
            return False
        now = clock()
        left_s, new_s = until - now, sum(part.seconds for part in new)
        if not new_s or left_s < LEAST_LEFT_S:
            return True
        there = present()
        parts = plan(left_s * new_s / (now - began), there)
        new = beyond(parts, there)
        if not (more := sum(len(part.cells) for part in new)):
            return True
        tell(f"{left_s / 60:.0f} min are left, for {more} more cells")
