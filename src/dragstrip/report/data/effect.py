"""The lead of a cell's fastest stack over each other one: its size, how sure it is, and which of
the two varies less.

The limits were fixed before any load was compared: docs/decisions/0093-reports-that-explain.md.
"""

import math
from typing import Literal

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dragstrip.report.data.cells import ReportCell
from dragstrip.report.data.leaders import ALIKE, ENOUGH_BLOCKS, each, few_but_exact, lead
from dragstrip.results.compare.stacks import compare_stacks
from dragstrip.results.compare.summary import Comparison
from dragstrip.stats.block_difference import Difference, difference
from dragstrip.stats.block_ratio import FAILED, block_ratio
from dragstrip.stats.spread import Quantiles, quantile_ratio

SizeWord = Literal["small", "medium", "large"]
MEDIUM, LARGE = 0.05, 0.20
"""Shares of the slower load from which a difference is medium, and large."""
VERY_SURE = 0.998
"""Level of an interval that still holds if 24 comparisons are made at once."""

Sureness = Literal["very sure", "sure", "every block", "not shown", "alike", "too few", "none"]
"""How sure it is that the leader is faster. `every block` is for repeatable loads in too few blocks
for an interval; `alike` means shown to differ by less than `ALIKE`; `none` that no load ended."""
SHOWN: frozenset[Sureness] = frozenset({"very sure", "sure", "every block"})


class Steadiness(Struct, frozen=True):
    """The interquartile range of two stacks' load times, shown to differ."""

    steady: str
    """The stack whose loads vary less."""
    restless: str
    ratio: float
    """Interquartile range of the steady stack divided by the other's, with its 95 % interval."""
    low: float
    high: float
    relative: bool
    """Whether it also varies less relative to its load time: by the ranges of the logarithms."""


class Advantage(Struct, frozen=True, kw_only=True):
    """The leading stack `best` against `rival`, in page load time."""

    best: str
    rival: str
    found: Comparison
    """best / rival: below 1, `best` is faster."""
    sureness: Sureness
    ends: tuple[float, float] | None
    """Least and greatest share of the rival's load time that `best` saves; negative where it may be
    slower. None without an interval."""
    sooner: Difference | None
    """rival - best in ms, over blocks; None if invalid visits widen the interval of the ratio."""
    faster: int
    """Number of blocks in which `best` was faster, of `found.n`."""
    steadiness: Steadiness | None
    """None if no difference of spread is shown."""

    @property
    def shown(self) -> bool:
        return self.sureness in SHOWN

    @property
    def sizes(self) -> tuple[SizeWord, SizeWord] | None:
        """Size at the lower and upper end of the interval; None unless a difference is shown."""
        if not self.shown or self.ends is None:
            return None
        return size_of(self.ends[0]), size_of(self.ends[1])


def size_of(share: float) -> SizeWord:
    """Name the size of a difference that saves this share of the slower load."""
    return "large" if share >= LARGE else "medium" if share >= MEDIUM else "small"


def effects(cell: ReportCell) -> list[Advantage]:
    """Compare the leading stack with each other one, the closest first. The list is empty if
    nothing can be compared."""
    if not cell.counted or len(cell.results) < 2:
        return []
    leaders = lead(cell).leaders
    if not leaders:
        return []
    best = leaders[0]
    rivals = [r.stack.name for r in cell.results if r.stack.name != best]
    found = ((name, compare_stacks(cell.seen, name, best, "plt_ms")) for name in rivals)
    made = [_effect(cell, best, name, c) for name, c in found if c]
    return sorted(made, key=lambda one: -one.found.ratio)


def _effect(cell: ReportCell, best: str, rival: str, found: Comparison) -> Advantage:
    of_best, of_rival = _times(cell, best), _times(cell, rival)
    known = ~(np.isnan(of_best) | np.isnan(of_rival))
    own, other = of_best[known], of_rival[known]
    ended = bool(np.isfinite(own).all() and np.isfinite(other).all())
    return Advantage(
        best=best,
        rival=rival,
        found=found,
        sureness=_sureness(cell, found, own, other),
        ends=_ends(cell, found),
        sooner=None if found.bound else difference(own, other),
        faster=int((own < other).sum()),
        steadiness=_steadiness(best, rival, own, other) if ended else None,
    )


def _times(cell: ReportCell, stack: str) -> NDArray[np.float64]:
    of = cell.seen.of(stack, "plt_ms")
    return np.where(of.censored, FAILED, of.values)


def _sureness(
    cell: ReportCell, found: Comparison, own: NDArray[np.float64], other: NDArray[np.float64]
) -> Sureness:
    if found.none_ended:
        return "none"
    if few_but_exact(cell):
        return "every block" if max(each(cell, found.b, found.a)) < 1 else "not shown"
    if cell.counted < ENOUGH_BLOCKS or found.least is None or found.most is None:
        return "too few"
    if found.most >= 1:
        near = found.least > 1 / (1 + ALIKE) and found.most < 1 + ALIKE
        return "alike" if near else "not shown"
    if found.bound:  # its ends are bounds at 95 %
        return "sure"
    wide = block_ratio(other, own).interval(VERY_SURE)
    return "very sure" if wide and wide[1] < 1 else "sure"


def _ends(cell: ReportCell, found: Comparison) -> tuple[float, float] | None:
    if few_but_exact(cell):
        ratios = each(cell, found.b, found.a)
        return 1 - max(ratios), 1 - min(ratios)
    if found.least is None or found.most is None or math.isinf(found.most):
        return None
    return 1 - found.most, 1 - found.least


def _steadiness(
    best: str, rival: str, own: NDArray[np.float64], other: NDArray[np.float64]
) -> Steadiness | None:
    steady, restless = best, rival
    span = _span(other, own)
    if span and span[1] > 1:
        steady, restless, own, other = rival, best, other, own
        span = _span(other, own)
    if span is None or span[2] >= 1:
        return None
    relative = _span(np.log(other), np.log(own))
    return Steadiness(
        steady, restless, span[1], span[0], span[2], relative is not None and relative[2] < 1
    )


def _span(a: NDArray[np.float64], b: NDArray[np.float64]) -> tuple[float, float, float] | None:
    """Return the ratio b / a of interquartile ranges between the ends of its interval; None without
    an interval."""
    found: Quantiles | None = quantile_ratio(a.tolist(), b.tolist(), "iqr", paired=True)
    ends = found.interval() if found else None
    return (ends[0], found.value, ends[1]) if found and ends else None
