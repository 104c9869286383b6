"""Gates: a condition on a comparison of two capsules that a build can fail by.

    [plt | ttfb | fcp] slower | faster > NUMBER %

`slower > 5%` fails if B's page load time is shown to be more than 5 % above A's. The interval must
support it: each cell and stack is tested one-sided at 2.5 %, so that one alone fails exactly if its
95 % interval lies beyond the threshold, and Holm's correction over all of them keeps a build with
many cells from failing by chance. A cell passes if its interval lies on the good side of the
threshold; anything else is not decided, and fails nothing.
"""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from dragstrip.model.errors import InputError
from dragstrip.results.blocks import METRICS, Metric
from dragstrip.results.compare_capsules import Compared
from dragstrip.stats.holm import holm

ALPHA = 0.025

_NAMES: dict[str, Metric] = {metric.removesuffix("_ms"): metric for metric in METRICS}
_CONDITION = re.compile(r"\s*(?:(\w+)\s+)?(slower|faster)\s*>\s*(\d+(?:\.\d+)?)\s*%\s*")


class Condition(Struct, frozen=True):
    text: str
    metric: Metric
    way: Literal["slower", "faster"]
    ratio: float
    """B / A at the threshold."""


class Gated(Struct, frozen=True, kw_only=True):
    """What a condition says of one stack on one cell."""

    condition: str
    cell: str
    stack: str
    verdict: Literal["failed", "passed", "not decided"]
    p: float
    """That the threshold is not exceeded, adjusted for all conditions, cells and stacks."""


def parse(text: str) -> Condition:
    """Raises `InputError` that shows how a condition is written."""
    found = _CONDITION.fullmatch(text)
    if not found or (found[1] or "plt") not in _NAMES:
        raise InputError(
            f"--fail-if {text!r} is not a condition; write it like 'slower > 5%' or "
            f"'ttfb slower > 10%' (metrics: {', '.join(_NAMES)})"
        )
    share = float(found[3]) / 100
    if found[2] == "slower":
        return Condition(text, _NAMES[found[1] or "plt"], "slower", 1 + share)
    if share >= 1:
        raise InputError(f"--fail-if {text!r}: nothing is 100 % faster; give a smaller percentage")
    return Condition(text, _NAMES[found[1] or "plt"], "faster", 1 - share)


def gate(conditions: Sequence[Condition], rows: Sequence[Compared]) -> list[Gated]:
    """Every condition on every row of its metric. Raises `InputError` if one applies to none."""
    asked = [(c, row) for c in conditions for row in rows if row.difference.metric == c.metric]
    for condition in conditions:
        if not any(c is condition for c, _ in asked):
            raise InputError(
                f"--fail-if {condition.text!r}: no visit of these capsules has a "
                f"{condition.metric.removesuffix('_ms')}; give another metric"
            )
    adjusted = holm([_beyond(condition, row) for condition, row in asked])
    return [_judge(*one, p) for one, p in zip(asked, adjusted, strict=True)]


def _judge(condition: Condition, row: Compared, p: float) -> Gated:
    within = _within(condition, row) <= ALPHA
    return Gated(
        condition=condition.text,
        cell=row.difference.cell,
        stack=row.difference.stack,
        verdict="failed" if p <= ALPHA else "passed" if within else "not decided",
        p=p,
    )


def _beyond(condition: Condition, row: Compared) -> float:
    """p of "B is not beyond the threshold"."""
    if row.estimate is None:
        return 1.0
    slower = condition.way == "slower"
    test = row.estimate.p_above if slower else row.estimate.p_below
    return test(condition.ratio)


def _within(condition: Condition, row: Compared) -> float:
    """p of "B is at or beyond the threshold"."""
    if row.estimate is None:
        return 1.0
    slower = condition.way == "slower"
    test = row.estimate.p_below if slower else row.estimate.p_above
    return test(condition.ratio)
