"""Gates: conditions on a comparison of two capsules. A build fails if one of its conditions fails.

    [p95 | iqr] [METRIC] slower | faster | higher | lower > NUMBER %

`slower > 5%` fails if B's page load time is shown to be more than 5 % above A's. METRIC is a name
of `dragstrip.visit.metrics`, with or without its `_ms`, or an object's (`object:/app.css:end`);
slower is higher, faster is lower. Each cell and stack is tested one-sided at 2.5 %, so a single one
fails exactly if its 95 % interval lies beyond the threshold. Holm's correction over all of them
keeps a build with many cells from failing by chance. A cell passes if its interval lies on the good
side of the threshold. Otherwise it is undecided, which does not fail the build.

With p95 or iqr, the condition judges the spread: the 95th percentile or the interquartile range.

In virtual time, on networks without randomness, loads with other seeds hardly differ. If they
differ less than the threshold, more than half of the pairs decide, even if there is only one pair
(`dragstrip.stats.majority`), and p is None. Pairs never decide on paints: a paint that misses a
frame waits for the next one, so paint times of one page fall into groups.
"""

import math
import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip.results.compare.capsules import CapsuleDifference, Compared
from dragstrip.stats.holm import holm
from dragstrip.stats.majority import Majority
from dragstrip.stats.order_interval import SHORT
from dragstrip.visit.objects import find_metric

ALPHA = 0.025

_CONDITION = re.compile(
    r"\s*(?:(p95|iqr)\s+)?(?:(\w+|object:\S+)\s+)?(slower|faster|higher|lower)\s*>\s*(\d+(?:\.\d+)?)\s*%\s*"
)


class Condition(Struct, frozen=True):
    text: str
    metric: str
    way: Literal["above", "below"]
    ratio: float
    """The threshold, as the ratio B / A."""
    statistic: Literal["median", "p95", "iqr"] = "median"


class Gated(Struct, frozen=True, kw_only=True):
    """The result of a condition for one stack on one cell."""

    condition: str
    cell: str
    stack: str
    metric: str
    statistic: Literal["median", "p95", "iqr"]
    verdict: Literal["failed", "passed", "not decided"]
    p: float | None
    """Probability of such data if the threshold is not exceeded, adjusted for all conditions, cells
    and stacks; None if pairs decided."""
    needs: int
    """Number of loads per side below which the condition cannot fail, given the number of
    comparisons."""


class Output(Struct, frozen=True, kw_only=True):
    """The output of `compare --json`. Its field names are a contract."""

    a: str
    b: str
    rules: int
    """Version of the verdict's rules by which the visits of both capsules were judged."""
    notes: list[str]
    differences: list[CapsuleDifference]
    conditions: list[Gated]
    stayed_invalid: bool
    """Whether more than 5 % of the blocks of `a` or `b` stayed invalid. Then an undecided condition
    says nothing about the build."""


def metric_name(text: str) -> str:
    """Return the full name of a metric, whose `_ms` may be missing in `text`. Raises `InputError`,
    which lists the metrics."""
    return find_metric(text).name


def parse(text: str, metric: str = "plt_ms") -> Condition:
    """Parse a condition. If the text names no metric, `metric` is used.

    Raises `InputError`, which shows the syntax of a condition.
    """
    found = _CONDITION.fullmatch(text)
    if not found:
        raise InputError(
            f"--fail-if {text!r} is not a condition; write it like 'slower > 5%', "
            "'ttfb slower > 10%' or 'p95 slower > 10%'"
        )
    if found[2]:
        metric = metric_name(found[2])
    share = float(found[4]) / 100
    statistic: Literal["median", "p95", "iqr"] = found[1] or "median"  # type: ignore[assignment]
    if found[3] in ("slower", "higher"):
        return Condition(text, metric, "above", 1 + share, statistic)
    if share >= 1:
        raise InputError(f"--fail-if {text!r}: nothing is 100 % below; give a smaller percentage")
    return Condition(text, metric, "below", 1 - share, statistic)


def gate(conditions: Sequence[Condition], rows: Sequence[Compared]) -> list[Gated]:
    """Apply every condition to every row of its metric. Raises `InputError` if a condition applies
    to no row."""
    asked = [
        (c, row)
        for c in conditions
        for row in rows
        if (row.difference.metric, row.difference.statistic) == (c.metric, c.statistic)
    ]
    for condition in conditions:
        if not any(c is condition for c, _ in asked):
            raise InputError(
                f"--fail-if {condition.text!r}: no visit of these capsules has a "
                f"{condition.metric.removesuffix('_ms')}; give another metric"
            )
    tests = [(c, row) for c, row in asked if not _pairs(c, row)]
    adjusted = iter(holm([_p(condition, row, beyond=True) for condition, row in tests]))
    # If all loads lie beyond the threshold, p is 2^-n / SHORT, times the number of tests.
    needs = max(2, math.ceil(math.log2(len(tests) / (SHORT * ALPHA)))) if tests else 1
    return [
        _voted(c, row.difference, pairs)
        if (pairs := _pairs(c, row))
        else _judged(c, row, next(adjusted), needs)
        for c, row in asked
    ]


def _pairs(condition: Condition, row: Compared) -> Majority | None:
    """Return the majority that decides instead of a test; None if a test decides."""
    found = row.estimate
    return found if isinstance(found, Majority) and found.is_fit(condition.ratio) else None


def _voted(condition: Condition, of: CapsuleDifference, pairs: Majority) -> Gated:
    beyond = pairs.beyond(condition.ratio, condition.way)
    return Gated(
        condition=condition.text,
        cell=of.cell,
        stack=of.stack,
        metric=of.metric,
        statistic=of.statistic,
        verdict="not decided" if beyond is None else "failed" if beyond else "passed",
        p=None,
        needs=1,
    )


def _judged(condition: Condition, row: Compared, p: float, needs: int) -> Gated:
    within = _p(condition, row, beyond=False) <= ALPHA
    return Gated(
        condition=condition.text,
        cell=row.difference.cell,
        stack=row.difference.stack,
        metric=row.difference.metric,
        statistic=row.difference.statistic,
        verdict="failed" if p <= ALPHA else "passed" if within else "not decided",
        p=p,
        needs=needs,
    )


def _p(condition: Condition, row: Compared, *, beyond: bool) -> float:
    """Return p of the hypothesis that B is not beyond the threshold. Without `beyond`, the
    hypothesis is that B is at or beyond it."""
    found = row.estimate
    if found is None:
        return 1.0
    known = found.ratio if isinstance(found, Majority) else found
    above = beyond == (condition.way == "above")
    test = known.p_above if above else known.p_below
    return test(condition.ratio)
