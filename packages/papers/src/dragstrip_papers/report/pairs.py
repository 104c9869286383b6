"""Compares two stacks cell by cell: the ratio with its interval, and whether it shows a
difference."""

from collections.abc import Sequence
from math import inf, log2
from typing import Literal

import numpy as np
import polars as pl
from msgspec import Struct

from dragstrip.model.stack import Stack
from dragstrip.pages import corpus
from dragstrip_papers.cells import Cell, Statistic, cells
from dragstrip_papers.compare import ratio_of

PairStanding = Literal["a", "b", "same", "open", "few a", "few b"]
MARGIN = 0.05


class PairRatio(Struct, frozen=True, kw_only=True):
    cell: Cell
    ratio: float
    """b / a of the medians (or means)."""
    low: float | None
    high: float | None
    """Upper end of the 95 % interval of the typical block's b / a; None with too few loads."""

    @property
    def standing(self) -> PairStanding:
        """Which stack is shown to be faster. ``same`` means that the ratio is shown to lie within 5
        % of 1, and ``open`` that neither is shown.

        ``few`` means too few loads for an interval.
        """
        if self.low is None or self.high is None:
            return "few b" if self.ratio < 1 else "few a"
        if self.high < 1:
            return "b"
        if self.low > 1:
            return "a"
        return "same" if self.low > 1 / (1 + MARGIN) and self.high < 1 + MARGIN else "open"

    @property
    def log2(self) -> float:
        return log2(self.ratio)


def pairs(
    loads: pl.DataFrame,
    a: str,
    b: str,
    metric: str,
    statistic: Statistic = "median",
    take: int | None = None,
) -> list[PairRatio]:
    """Return the ratio of every cell in which both stacks have the metric. With `take`, only that
    many first loads of a cell count."""
    found = [c.first(take) if take else c for c in cells(loads, (a, b), metric)]
    return [_pair(cell, a, b, statistic) for cell in found]


def _pair(cell: Cell, a: str, b: str, statistic: Statistic) -> PairRatio:
    low, high = ratio_of([cell], a, b, statistic).interval() or (None, None)
    ratio = cell.centre(b, statistic) / cell.centre(a, statistic)
    return PairRatio(cell=cell, ratio=ratio, low=low, high=high)


def winner(cell: Cell, stacks: Sequence[Stack]) -> tuple[str, float, bool]:
    """Return the stack with the fastest median, its lead over the next one (1 - ratio), and whether
    the interval of that ratio excludes 1."""
    centre = {s.name: float(np.median(cell.times[s.name])) for s in stacks}
    best, second = sorted(centre, key=lambda name: centre[name])[:2]
    pair = _pair(cell, second, best, "median")
    return best, 1 - pair.ratio, pair.high is not None and pair.high < 1


def place(cell: Cell) -> str:
    """Write a cell's network in words: ``100 Mbit/s, 10 ms, 0 %``."""
    factors = cell.factors
    rate = f"{factors['rate_mbps']:g} Mbit/s" if "rate_mbps" in factors else "unlimited"
    return f"{rate}, {factors['rtt_ms']:g} ms, {factors['loss'] * 100:.3g} %"


def conditions(cell: Cell) -> tuple[float, float, float, float]:
    """Return a sort key of networks and pages: rate, loss, round trip, bytes."""
    f = cell.factors
    return f.get("rate_mbps", inf), f["loss"], f["rtt_ms"], f.get("page_bytes", 0.0)


def short(page: str) -> str:
    """Return the page's label without the name of its set."""
    return corpus.label(page).split("-", 1)[-1]
