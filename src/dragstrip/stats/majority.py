"""Decides by a majority of a few exact pairs of loads.

In virtual time, two loads with the same seed differ only by the change itself and by its chance
effects, such as a different order of threads or different keys. Even if these effects are small
beside the ratio in question, a test for populations would need ten loads. Here each pair has one
vote, so one odd pair among three is outvoted. Loads with other seeds show the size of the chance
effects.

A majority has no confidence level, so there is no p value. docs/reference/virtual-gate.md gives its
measured error rate.
"""

import math
from collections.abc import Sequence
from statistics import median
from typing import Literal

from msgspec import Struct

from dragstrip.stats.block_ratio import BlockRatio

Way = Literal["above", "below"]


class Majority(Struct, frozen=True):
    """The ratios b / a over pairs of loads in virtual time."""

    ratio: BlockRatio
    sides: tuple[tuple[float, ...], tuple[float, ...]]
    """Load times of stack a and of stack b, one per seed."""

    def is_fit(self, ratio: float) -> bool:
        """Return whether more than half of each side's loads are nearer to their median than
        `ratio` is to 1. If not, chance alone could cause such a ratio, and the pairs cannot
        decide."""
        return all(_agree(loads, abs(math.log(ratio))) for loads in self.sides)

    @property
    def value(self) -> float:
        """The median of b / a."""
        return self.ratio.value

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest b / a."""
        return math.exp(self.ratio.logs[0]), math.exp(self.ratio.logs[-1])

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Return the interval of the median over seeds; None with too few pairs for the level."""
        return self.ratio.interval(level)

    def beyond(self, ratio: float, way: Way) -> bool | None:
        """Return whether more than half of the pairs lie beyond `ratio` on that side. The result is
        False if fewer than half do, and None if exactly half do."""
        point = math.log(ratio)
        pairs = sum(log > point if way == "above" else log < point for log in self.ratio.logs)
        return None if 2 * pairs == self.ratio.n else 2 * pairs > self.ratio.n


def _agree(loads: Sequence[float], apart: float) -> bool:
    centre = math.log(median(loads))
    return 2 * sum(abs(math.log(load) - centre) < apart for load in loads) > len(loads)
