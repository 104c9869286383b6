"""Finds which stack leads a cell in a metric, by how much, and which stacks tie with it."""

from typing import Literal

import numpy as np
from msgspec import Struct

from dragstrip.report.data.cells import ReportCell
from dragstrip.results.compare.stacks import compare_stacks
from dragstrip.results.compare.summary import Comparison
from dragstrip.visit.metric import Metric
from dragstrip.visit.objects import find_metric

ENOUGH_BLOCKS = 5
"""Fewest blocks for an interval. With fewer, the answer begins by saying that there is no
interval."""
ALIKE = 0.05
"""Stacks are alike if the 95 % intervals of their ratios are at most this far from 1."""

LeaderKind = Literal["lead", "tie", "alike", "open", "too few", "none"]


class Lead(Struct, frozen=True):
    """The stacks that lead a cell. `kind` is `lead` if one stack beats all others, `tie` if several
    stacks beat some, and `alike` if stacks differ by at most `ALIKE`. It is `open` if no difference
    was shown, `too few` with too few blocks, and `none` with no block."""

    kind: LeaderKind
    leaders: tuple[str, ...] = ()
    """The best stack first, then the stacks that are not shown to be worse."""
    by: Comparison | None = None
    """The best stack (`a`) compared with the closest stack that is shown to be worse (`b`)."""
    blocks: int = 0

    @property
    def share(self) -> float:
        """The best stack's lead, as a fraction of that stack's value."""
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
    """Return whether a cell has too few blocks for an interval but repeatable loads."""
    return cell.exact and 0 < cell.counted < ENOUGH_BLOCKS


def each(cell: ReportCell, a: str, b: str, metric: str = "plt_ms") -> list[float]:
    """Return a / b of every block. The ratio is 1 if neither load ended, and infinite if only the
    load of `a` did not end."""
    of_a, of_b = cell.seen.of(a, metric), cell.seen.of(b, metric)
    values_a, values_b = (np.where(of.censored, np.inf, of.values) for of in (of_a, of_b))
    return [1.0 if x == y else float(x / y) for x, y in zip(values_a, values_b, strict=True)]


def mark(c: Comparison | None, metric: Metric) -> str:
    """CSS classes of a ratio, for its shown direction and whether that is better; empty if no
    difference is shown."""
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
