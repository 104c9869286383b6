"""Decides when to stop: group-sequential looks with a hard cap.

Testing repeatedly at 5 % and stopping at the first success finds differences that do not exist.
Alpha spending sets how much of alpha each look may use. At each look the interval is wider than a
95 % interval, so that all looks together err with probability alpha. A study stops when this
interval excludes 1, lies within the equivalence margin, or the cap is reached.

Source: Lan and DeMets, "Discrete sequential boundaries for clinical trials", Biometrika 70 (1983),
659-663 (the two spending functions); Armitage, McPherson and Rowe, JRSS A 132 (1969), 235-244 (the
recursion over looks); Jennison and Turnbull, "Group Sequential Methods" (2000), sections 3.8 (other
tests than z by their significance level) and 9.1 (repeated confidence intervals).
"""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Literal

import numpy as np
from msgspec import Struct, structs
from scipy.special import ndtr, ndtri

from dragstrip.model.study import Spending
from dragstrip.stats.block_ratio import BlockRatio
from dragstrip.stats.order_interval import least

Verdict = Literal["go on", "faster", "slower", "equivalent", "not decided"]
"""Verdict on `b` against `a`; ``not decided`` means that the cap was reached."""

Interval = Callable[[Sequence[float], float], tuple[float, float] | None]
"""Returns the interval of b / a at a level, from the blocks' log-ratios; None with too few
blocks."""

_GRID = 801
_TINY = 1e-12


class Plan(Struct, frozen=True, kw_only=True):
    """The looks of a study. `looks` are ascending numbers of blocks; the last number is the cap."""

    looks: tuple[int, ...] = (8, 12, 16, 21, 26, 31)
    alpha: float = 0.05
    margin: float | None = None
    """Equivalence margin (0.05 is 5 %); None never stops for equivalence."""
    spending: Spending = "Pocock"
    """How alpha is spent. O'Brien-Fleming keeps nearly all of it for the end. The rest is so little
    that at early looks the median of a few blocks has no interval."""

    def __post_init__(self) -> None:
        if not self.looks or self.looks[0] < 2 or list(self.looks) != sorted(set(self.looks)):
            raise ValueError("looks are rising numbers of blocks, the first at least 2")
        if not 0 < self.alpha < 1:
            raise ValueError("alpha is a share between 0 and 1")
        if self.margin is not None and self.margin <= 0:
            raise ValueError("an equivalence margin is above zero")


class Decision(Struct, frozen=True):
    verdict: Verdict
    n: int
    """Number of blocks at the look that decided, or at the last look so far; 0 before the first."""
    low: float | None = None
    high: float | None = None
    """Upper end of the repeated confidence interval of b / a at that look; None if its level needs
    more blocks."""


def spent(share: float, alpha: float, spending: Spending) -> float:
    """Return the part of `alpha` that may be spent once this share of the blocks is made.

    O'Brien-Fleming: each side spends half of alpha by 2 - 2 Phi(z / sqrt(share)).
    """
    if spending == "Pocock":
        return alpha * math.log(1 + (math.e - 1) * share)
    return 4 * float(ndtr(float(ndtri(alpha / 4)) / math.sqrt(share)))


@cache
def boundaries(plan: Plan) -> tuple[float, ...]:
    """Return the two-sided boundary |z| of each look."""
    from scipy.optimize import brentq

    shares = [n / plan.looks[-1] for n in plan.looks]
    spends = [spent(share, plan.alpha, plan.spending) for share in shares]
    x, weight = np.zeros(1), np.ones(1)  # a Brownian motion that starts in 0
    found: list[float] = []
    before, used = 0.0, 0.0
    for share, budget in zip(shares, spends, strict=True):
        step, scale = math.sqrt(share - before), math.sqrt(share)

        def excess(
            z: float,
            x: np.ndarray = x,
            weight: np.ndarray = weight,
            step: float = step,
            scale: float = scale,
            budget: float = budget - used,
        ) -> float:
            """Return the probability of crossing the boundary `z` at this look, minus the
            probability that may be spent."""
            end = z * scale
            out = ndtr((-end - x) / step) + ndtr((x - end) / step)
            return float(weight @ out) - budget

        z = float(brentq(excess, 0, 30, xtol=1e-10))
        found.append(z)
        grid = np.linspace(-z * scale, z * scale, _GRID)
        density = np.exp(-(((grid[:, None] - x) / step) ** 2) / 2) @ weight
        x, weight = grid, density * _simpson(grid) / (step * math.sqrt(2 * math.pi))
        before, used = share, budget
    return tuple(found)


def of_median(logs: Sequence[float], level: float) -> tuple[float, float] | None:
    """Return the interval of the median of b / a, from the blocks' log-ratios."""
    return BlockRatio(tuple(sorted(logs))).interval(level)


def decide(logs: Sequence[float], plan: Plan, interval: Interval = of_median) -> Decision:
    """Return the decision that the blocks' log-ratios ln(b / a) allow, in the order they were made.

    The decision depends only on the blocks up to the look that decides, so a resumed study decides
    alike.
    """
    decision = Decision("go on", 0)
    plan = reachable(plan) if interval is of_median else plan
    for look, z in zip(plan.looks, boundaries(plan), strict=True):
        if look > len(logs):
            break
        decision = _look(logs[:look], plan, 2 * float(ndtr(-z)), interval)
        if decision.verdict != "go on":
            break
    return decision


@cache
def reachable(plan: Plan) -> Plan:
    """Return the plan without early looks whose level is too high for the median to have an
    interval. They would spend some of alpha and decide nothing. The cap stays."""
    while len(plan.looks) > 1:
        miss = 2 * float(ndtr(-boundaries(plan)[0]))
        if miss > _TINY and least(1 - miss) <= plan.looks[0]:
            break
        plan = structs.replace(plan, looks=plan.looks[1:])
    return plan


def _look(logs: Sequence[float], plan: Plan, miss: float, of: Interval) -> Decision:
    n = len(logs)
    verdict: Verdict = "not decided" if n == plan.looks[-1] else "go on"
    interval = of(logs, 1 - miss) if miss > _TINY else None
    if interval is None:
        return Decision(verdict, n)
    low, high = interval
    if plan.margin is not None and 1 / (1 + plan.margin) < low and high < 1 + plan.margin:
        verdict = "equivalent"
    elif high < 1:
        verdict = "faster"
    elif low > 1:
        verdict = "slower"
    return Decision(verdict, n, low, high)


def _simpson(grid: np.ndarray) -> np.ndarray:
    weight = np.full(len(grid), 2.0)
    weight[1::2] = 4
    weight[[0, -1]] = 1
    return np.asarray(weight * (grid[1] - grid[0]) / 3)
