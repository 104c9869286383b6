"""Computes biswal2016's numbers: the median of five loads, and the share of cells in which one
stack's median wins.

Source: Biswal and Gnawali, "Does QUIC make the Web faster?", GLOBECOM 2016, section 3.1 (five
loads, median, ratio PLT(QUIC) / PLT(HTTP/2)) and 3.2 (share of ratios below 1). No test is made: a
cell whose two stacks do not differ counts as won half of the time.
"""

from collections.abc import Iterable, Sequence
from statistics import median

from msgspec import Struct

LOADS = 5


class Share(Struct, frozen=True):
    below: int
    """Number of cells whose ratio is below 1."""
    cells: int

    @property
    def share(self) -> float:
        return self.below / self.cells


def cell_ratio(a: Sequence[float], b: Sequence[float]) -> float:
    """Return the median of the first five `b` over that of the first five `a`; below 1, `b` is
    faster.

    Raises `ValueError` if either stack has fewer than five loads.
    """
    if min(len(a), len(b)) < LOADS:
        raise ValueError(f"biswal2016 takes {LOADS} loads a cell, not {len(a)} and {len(b)}")
    return median(b[:LOADS]) / median(a[:LOADS])


def share_below_one(ratios: Iterable[float]) -> Share:
    """Return the share of ratios below 1. Raises `ValueError` without cells."""
    found = list(ratios)
    if not found:
        raise ValueError("a share needs cells")
    return Share(sum(ratio < 1 for ratio in found), len(found))
