"""Chooses which cells of a paper to run when there is time for only some of them.

Cells of whole claims come first, the cheapest claim first, because half of a claim's cells seldom
settle it. The remaining time goes to the cheapest cells.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from dragstrip_papers.campaign.space import reach
from dragstrip_papers.predicates import AnyPredicate

START_S = 12.0
"""Seconds to start testbed, browsers and servers of a study."""
CALIBRATE_S = 5.0
"""Seconds to calibrate one network before a study's first visit."""
PAGE_S = 3.0
"""Seconds to make and rehearse a page."""


def choose(
    cells: pl.DataFrame,
    predicates: Iterable[AnyPredicate | None],
    runs: int,
    budget_s: float,
    have: Iterable[int] = (),
) -> list[int]:
    """Return rows of `cells` (`dragstrip_papers.campaign.space`) whose `runs` blocks fit the
    budget.

    The rows `have` are always among them, and cost no time.
    """
    rows = cells.with_row_index()
    groups = [frozenset(reach(p, rows)["index"].to_list()) for p in predicates if p is not None]
    singles = [frozenset([i]) for i in range(len(cells))]
    price = _Price(cells, runs)
    chosen = frozenset(have)
    budget_s += price(chosen)
    for open_ in (groups, singles):
        while fitting := [
            (cost, sorted(group))
            for group in open_
            if group - chosen and (cost := price(chosen | group)) <= budget_s
        ]:
            chosen |= frozenset(min(fitting)[1])
    return sorted(chosen)


class _Price:
    """Computes the seconds that a set of cells takes. Each study, network and page adds a fixed
    cost once."""

    def __init__(self, cells: pl.DataFrame, runs: int) -> None:
        self._seconds = [runs * s for s in cells["block_s"]]
        self._once = [
            ((study, START_S), (f"{study} {network}", CALIBRATE_S), (f"{study} {page}", PAGE_S))
            for study, network, page in cells.select("study", "network", "page").iter_rows()
        ]

    def __call__(self, chosen: Iterable[int]) -> float:
        picked = list(chosen)
        once = {name: s for i in picked for name, s in self._once[i]}
        seconds: float = sum(self._seconds[i] for i in picked)
        return seconds + sum(once.values())


def cost_s(cells: pl.DataFrame, chosen: Sequence[int], runs: int) -> float:
    """Return the expected seconds of `runs` blocks of each chosen row."""
    return _Price(cells, runs)(chosen)
