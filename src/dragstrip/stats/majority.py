"""What a few exact pairs of loads say: more than half of them decide.

In virtual time a load has no noise. Two loads with the same seed differ by the change, and by
chance effects of the change: another order of threads, other keys. A test for populations would
still ask for ten loads. Here each pair has a vote, and one odd pair among three is outvoted.

That is no level of confidence, so there is no p value. How often a majority errs was measured:
docs/reference/virtual-gate.md.
"""

import math
from typing import Literal

from msgspec import Struct

from dragstrip.stats.block_ratio import BlockRatio

Way = Literal["above", "below"]


class Majority(Struct, frozen=True):
    """b / a over pairs of loads in virtual time."""

    ratio: BlockRatio

    @property
    def value(self) -> float:
        """The median of b / a."""
        return self.ratio.value

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest b / a."""
        return math.exp(self.ratio.logs[0]), math.exp(self.ratio.logs[-1])

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        """Interval of the median over seeds; None with too few pairs for the level."""
        return self.ratio.interval(level)

    def beyond(self, ratio: float, way: Way) -> bool | None:
        """Whether more than half of the pairs lie beyond `ratio` on that side; False if more than
        half do not; None if it is a tie."""
        point = math.log(ratio)
        pairs = sum(log > point if way == "above" else log < point for log in self.ratio.logs)
        return None if 2 * pairs == self.ratio.n else 2 * pairs > self.ratio.n
