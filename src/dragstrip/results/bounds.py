"""Computes bounds of a ratio for all possible results of the visits that do not count.

Invalid visits are repeated, so the visits that count are a selection. If invalid visits affect
stacks unequally, or most visits of a stack, the ratio of the valid visits says little. The bounds
replace each attempt without a valid visit of either stack by the worst rank, first for one stack
and then for the other. The truth lies between the bounds as long as fewer than half of the attempts
are missing.

Source: Lachin, Controlled Clinical Trials 20 (1999), 408-422 (worst ranks); Horowitz and Manski,
"Nonparametric analysis of randomized experiments with missing covariate and outcome data", JASA 95
(2000), 77-84 (bounds without assumptions on what is missing).
"""

import math
from collections.abc import Iterator, Sequence

import polars as pl
from msgspec import Struct

from dragstrip.results.observed import Observed
from dragstrip.stats.block_ratio import BlockRatio, log_ratios

MOSTLY = 1 / 2
"""Share of a stack's visits: if at least this share is invalid, the stack's ratios get bounds."""


class Bound(Struct, frozen=True):
    """Bounds of the ratio b / a at 95 % confidence."""

    low: float
    high: float
    """Upper bound; `low` is the lower bound. They are infinity and zero if the data exclude no
    ratio."""
    missing: int
    """Number of attempts at blocks that lack a valid visit of either stack."""
    attempts: int


class FilledRatio(Struct, frozen=True):
    """The ratio b / a over all attempts. An attempt with a missing visit gets the worst rank for
    either side, whichever is less favourable."""

    least: BlockRatio
    most: BlockRatio
    missing: int

    def p_above(self, ratio: float) -> float:
        """Return the p value of `BlockRatio.p_above` in the least favourable case for the missing
        visits."""
        return self.least.p_above(ratio)

    def p_below(self, ratio: float) -> float:
        return self.most.p_below(ratio)

    def bound(self) -> Bound:
        low, _ = self.least.interval() or (0.0, math.inf)
        _, high = self.most.interval() or (0.0, math.inf)
        return Bound(low=low, high=high, missing=self.missing, attempts=self.least.n)


def filled(logs: Sequence[float], missing: int) -> FilledRatio:
    """Compute the filled ratio. `logs` are ln(b / a) of the known attempts, `missing` is the number
    of the others."""
    known = sorted(logs)
    least = BlockRatio((*[-math.inf] * missing, *known))
    return FilledRatio(least, BlockRatio((*known, *[math.inf] * missing)), missing)


def bound(cell: Observed, a: str, b: str, metric: str) -> Bound | None:
    """Return the bounds of b / a; None if they are not needed, because few visits are invalid and
    all stacks are affected alike."""
    if not in_doubt(cell, a, b):
        return None
    logs = list(_logs(cell, a, b, metric))
    known = [log for log in logs if log is not None]
    return filled(known, len(logs) - len(known)).bound()


def in_doubt(cell: Observed, *stacks: str) -> bool:
    """Return whether invalid visits affect stacks unequally, or affect many visits of one of these
    `stacks`."""
    return cell.biased or any(_invalid_share(cell, stack) >= MOSTLY for stack in stacks)


def invalid_visits(cell: Observed, stack: str) -> int:
    return cell.tallies.get(stack, (0, 0))[1]


def _invalid_share(cell: Observed, stack: str) -> float:
    made, invalid = cell.tallies.get(stack, (0, 0))
    return invalid / made if made else 0.0


def _logs(cell: Observed, a: str, b: str, metric: str) -> Iterator[float | None]:
    """Yield ln(b / a) of each block's first attempt in which both visits are valid, and None for
    each attempt before that one."""
    rows = cell.visits.filter(pl.col("stack").is_in([a, b])).sort("block", "attempt")
    for _, block in rows.group_by("block", maintain_order=True):
        for _, made in block.group_by("attempt", maintain_order=True):
            if len(made) < 2:
                continue
            values = dict(zip(made["stack"], cell.values_of(made, metric).tolist(), strict=True))
            if made["valid"].all() and all(v > 0 for v in values.values()):
                yield float(log_ratios([values[a]], [values[b]])[0])
                break
            yield None
