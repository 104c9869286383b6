"""Comparisons with loads that never ended: by rank, not by a made-up time.

A load that failed or timed out is never dropped. All that is known of it is that it is slower than
every load that ended: it takes the worst rank. Paired: a block in which only `b` failed has the
ratio infinity, only `a` zero, both one (a tie); the median of the ratios and its interval by order
statistics, and the sign test, need no more than that. Unpaired: the Mann-Whitney test and the shift
of Hodges and Lehmann on the same ranks. An end of an interval may be infinite: then the data cannot
exclude that most loads of that stack fail.

Source: Lachin, "Worst-rank score analysis with informatively missing observations in clinical
trials", Controlled Clinical Trials 20 (1999), 408-422.
"""

import math
from collections.abc import Sequence

from msgspec import Struct
from scipy.special import bdtrc

from dragstrip.stats.hodges_lehmann import unpaired_shift
from dragstrip.stats.median import median

FAILED = math.inf
"""The time of a load that failed or timed out."""


class PairedRanks(Struct, frozen=True):
    """Ratios b / a of the blocks, 0 and infinity included."""

    ratios: tuple[float, ...]

    @property
    def n(self) -> int:
        return len(self.ratios)

    @property
    def value(self) -> float:
        """Median of the ratios; the geometric mean of the two in the middle, if there are two."""
        ordered, n = sorted(self.ratios), len(self.ratios)
        low, high = ordered[(n - 1) // 2], ordered[n // 2]
        if low == high or low == 0 < math.inf == high:
            return low if low == high else 1.0  # one stack failed as often as the other
        return math.sqrt(low * high)

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        found = median(self.ratios, level)
        return None if found.low is None or found.high is None else (found.low, found.high)

    def p_above(self, ratio: float) -> float:
        """One-sided sign test of "the median ratio is at most `ratio`"."""
        above = sum(r > ratio for r in self.ratios)
        decided = sum(r != ratio for r in self.ratios)
        return float(bdtrc(above - 1, decided, 0.5)) if above else 1.0

    def p_below(self, ratio: float) -> float:
        """One-sided sign test of "the median ratio is at least `ratio`"."""
        return PairedRanks(tuple(_turn(r) for r in self.ratios)).p_above(_turn(ratio))


class UnpairedRanks(Struct, frozen=True):
    """Two independent samples of times; infinity for a load that never ended."""

    a: tuple[float, ...]
    b: tuple[float, ...]

    @property
    def n(self) -> int:
        return min(len(self.a), len(self.b))

    @property
    def value(self) -> float:
        """Shift of Hodges and Lehmann as a ratio b / a."""
        return unpaired_shift(self.a, self.b).value

    def interval(self, level: float = 0.95) -> tuple[float, float] | None:
        found = unpaired_shift(self.a, self.b, level)
        return None if found.low is None or found.high is None else (found.low, found.high)

    def p_above(self, ratio: float) -> float:
        """One-sided Mann-Whitney test of "b is at most `ratio` times a"."""
        return _mann_whitney(self.b, tuple(x * ratio for x in self.a))

    def p_below(self, ratio: float) -> float:
        """One-sided Mann-Whitney test of "b is at least `ratio` times a"."""
        return _mann_whitney(tuple(x * ratio for x in self.a), self.b)


def paired_ranks(a: Sequence[float], b: Sequence[float]) -> PairedRanks:
    """Times of the same blocks; `FAILED` for a load that never ended. Raises `ValueError`."""
    if len(a) != len(b) or not a:
        raise ValueError(f"a ratio needs pairs, not {len(a)} and {len(b)} values")
    ties = ((x, y) for x, y in zip(a, b, strict=True))
    return PairedRanks(tuple(1.0 if x == y else y / x for x, y in ties))


def unpaired_ranks(a: Sequence[float], b: Sequence[float]) -> UnpairedRanks:
    """Times of two samples; `FAILED` for a load that never ended. Raises `ValueError`."""
    if not a or not b:
        raise ValueError(f"a ratio needs values on both sides, not {len(a)} and {len(b)}")
    return UnpairedRanks(tuple(a), tuple(b))


def _turn(ratio: float) -> float:
    return 1 / ratio if ratio else math.inf


def _mann_whitney(slow: Sequence[float], fast: Sequence[float]) -> float:
    from scipy.stats import mannwhitneyu  # slow to import, and seldom needed

    if len(set(slow) | set(fast)) == 1:
        return 1.0  # all tied; SciPy would divide by zero
    return float(mannwhitneyu(slow, fast, alternative="greater").pvalue)
