"""Measures how much a comparison varies from one start of the testbed to the next.

Blocks of one start share its properties: the layout of memory, which caches are warm, the state of
a browser's process. Blocks of one boot, and of one machine, share properties too. The interval of a
ratio counts blocks, so it does not cover other starts, boots or machines.
"""

from typing import Literal, get_args

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from dragstrip.results.observed import Observed
from dragstrip.stats.groups.components import LEAST_GROUPS, components

RestartLevel = Literal["machine", "boot", "restart"]
LEVELS: tuple[RestartLevel, ...] = get_args(RestartLevel)


class Between(Struct, frozen=True, kw_only=True):
    """Stack `b` against stack `a` over several machines, boots or restarts."""

    level: RestartLevel
    units: int
    """Number of machines, boots or restarts."""
    ratio: float
    """Geometric mean of b / a, with equal weight for each unit."""
    low: float
    high: float
    """Upper end of the 95 % interval of `ratio`, which also holds for future units."""
    between: float
    """Standard deviation of ln(b / a) between units: 0.01 is about 1 %."""
    within: float
    """Standard deviation of ln(b / a) between blocks of one unit."""
    p: float
    """Probability of such differences between units by chance alone."""


def between(cell: Observed, a: str, b: str, metric: str) -> tuple[Between, ...]:
    """Measure how much the ratio of `metric` of `b` to `a` differs between machines, between boots
    and between restarts of the testbed. Machines, boots or restarts have a result if there are at
    least three of them; machines come first. Empty if a load failed."""
    rows = cell.stacks[a]
    if rows["testbed"].n_unique() < LEAST_GROUPS:  # and so of boots and machines
        return ()
    values_a, values_b = cell.of(a, metric), cell.of(b, metric)
    ended = ~(values_a.censored | values_b.censored)
    known = (values_a.values > 0) & (values_b.values > 0)
    if not ended.all() or not known.any():
        return ()
    logs = np.log(values_b.values[known] / values_a.values[known])
    machine, testbed = (rows[name].to_numpy()[known] for name in ("machine", "testbed"))
    if not all(testbed):
        return ()
    boot = np.array([start.partition(".")[0] for start in testbed])
    units = {"machine": machine, "boot": boot, "restart": testbed}
    found = [_of(level, units[level], logs) for level in LEVELS]
    return tuple(one for one in found if one is not None)


def _of(
    level: RestartLevel, units: NDArray[np.object_], logs: NDArray[np.float64]
) -> Between | None:
    groups = [logs[units == unit].tolist() for unit in dict.fromkeys(units.tolist())]
    found = components(groups)
    if found is None:
        return None
    ratio, low, high = (float(np.exp(x)) for x in (found.mean, found.low, found.high))
    return Between(
        level=level,
        units=len(groups),
        ratio=ratio,
        low=low,
        high=high,
        between=found.between,
        within=found.within,
        p=found.p,
    )
