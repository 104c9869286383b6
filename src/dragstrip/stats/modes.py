"""Finds two modes in a sample: two groups of values with nothing between them.

Paints do this. A packet that comes a little later misses a frame, something else waits for that
frame, and the paint comes hundreds of milliseconds later. The median of such a sample tells which
group is larger, not how long a load takes.

The rule: the widest gap between neighbouring values is at least `_WIDER` times as wide as the wider
group, and at least `_APART` of the value below it. Each group has `_LEAST` values or more, and the
sample `ENOUGH`. At most 1 in 100 samples with a single mode pass for two, be they normal, uniform,
exponential or of Student's t with three degrees of freedom (bench/stats/modes.py).
"""

from collections.abc import Sequence

from msgspec import Struct

from dragstrip.stats.median import middle

ENOUGH = 8
_LEAST = 2
_WIDER = 3.0
_APART = 0.1


class Mode(Struct, frozen=True):
    """A group of values: their number and their median."""

    count: int
    value: float


def modes(values: Sequence[float]) -> tuple[Mode, Mode] | None:
    """The two modes of positive finite `values`, the lower one first; None if they have only
    one."""
    ordered = sorted(values)
    if len(ordered) < ENOUGH:
        return None
    cuts = range(_LEAST, len(ordered) - _LEAST + 1)
    cut = max(cuts, key=lambda cut: ordered[cut] - ordered[cut - 1])
    low, high = ordered[:cut], ordered[cut:]
    gap = high[0] - low[-1]
    wider = max(low[-1] - low[0], high[-1] - high[0])
    if gap < _WIDER * wider or gap < _APART * low[-1]:
        return None
    return Mode(len(low), middle(low)), Mode(len(high), middle(high))
