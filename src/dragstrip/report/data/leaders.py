"""Which stack leads a cell in a metric, by how much, and which ones tie with it."""

from typing import Literal

import numpy as np
from msgspec import Struct

from dragstrip.report.data.cells import ReportCell
from dragstrip.results.compare.stacks import compare_stacks
from dragstrip.results.compare.summary import Comparison
from dragstrip.visit.metric import Metric
from dragstrip.visit.objects import find_metric

ENOUGH_BLOCKS = 5
"""Fewest blocks with an interval; below it the answer first says that there is none."""
ALIKE = 0.05
"""Stacks are alike if the 95 % intervals of their ratios lie within this of 1."""

LeaderKind = Literal["lead", "tie", "alike", "open", "too few", "none"]


class Lead(Struct, frozen=True):
    """Which stacks lead. `lead`: one stack beats all others. `tie`: several beat some. `alike`:
    they differ by at most `ALIKE`. `open`: no difference was shown, with `too few` blocks or
    `none`."""

    kind: LeaderKind
    leaders: tuple[str, ...] = ()
    """The best stack first, then those that are not shown to be worse."""
    by: Comparison | None = None
    """The closest stack that is shown to be worse (`b`), against the best (`a`)."""
    blocks: int = 0

    @property
    def share(self) -> float:
        """The best stack's lead, as a share of the beaten stack's value."""
        return abs(1 - 1 / self.by.ratio) if self.by else 0.0


def lead(cell: ReportCell, metric: str = "plt_ms") -> Lead:
    first, *others = [r.stack.name for r in cell.results]
    found = [c for r in cell.results if (c := r.against_first.get(metric))]
    if not found or len(found) < len(others):
        return Lead("none", blocks=cell.counted)
    sign = -1 if find_metric(metric).better == "higher" else 1
    level = {c.b: c.ratio**sign for c in found} | {first: 1.0}
    best = min(level, key=lambda name: level[name])
    if best != first:
        pairs = (compare_stacks(cell.seen, best, name, metric) for name in level if name != best)
        found = [c for c in pairs if c]
    rivals = sorted(found, key=lambda c: c.ratio**sign)
    if few_but_exact(cell):
        beaten = [c for c in rivals if all(r * sign < sign for r in each(cell, best, c.b, metric))]
    else:
        beaten = [c for c in rivals if _beaten(c, sign)]
    leaders = (best, *(c.b for c in rivals if c not in beaten))
    by = beaten[0] if beaten else None
    return Lead(_kind(cell, rivals, beaten), leaders, by, cell.counted)


def few_but_exact(cell: ReportCell) -> bool:
    """Too few blocks for an interval, but their loads repeat themselves."""
    return cell.exact and 0 < cell.counted < ENOUGH_BLOCKS


def each(cell: ReportCell, a: str, b: str, metric: str = "plt_ms") -> list[float]:
    """a / b of every block; 1 where neither load ended, and without end where `a` did not."""
    of_a, of_b = cell.seen.of(a, metric), cell.seen.of(b, metric)
    values_a, values_b = (np.where(of.censored, np.inf, of.values) for of in (of_a, of_b))
    return [1.0 if x == y else float(x / y) for x, y in zip(values_a, values_b, strict=True)]


def mark(c: Comparison | None, metric: Metric) -> str:
    """CSS classes of a ratio: which way it is shown to differ, and whether that is better."""
    if c is None or c.least is None or c.most is None or c.least <= 1 <= c.most:
        return ""
    way = "down" if c.most < 1 else "up"
    if metric.better == "neither":
        return f"{way} plain-mark"
    better = (way == "down") == (metric.better == "lower")
    return f"{way} {'good' if better else 'bad'}-mark"


def _beaten(c: Comparison, sign: int) -> bool:
    edge = c.least if sign == 1 else c.most
    return edge is not None and (edge - 1) * sign > 0


def _kind(cell: ReportCell, rivals: list[Comparison], beaten: list[Comparison]) -> LeaderKind:
    if cell.counted < ENOUGH_BLOCKS and not few_but_exact(cell):
        return "too few"
    if beaten:
        return "lead" if len(beaten) == len(rivals) else "tie"
    return "alike" if all(_alike(c) for c in rivals) else "open"


def _alike(c: Comparison) -> bool:
    if c.least is None or c.most is None:
        return False
    return c.least > 1 / (1 + ALIKE) and c.most < 1 + ALIKE
