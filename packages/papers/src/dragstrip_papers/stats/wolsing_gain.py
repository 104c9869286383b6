"""Computes wolsing2019's performance gain: the relative difference of means, page by page.

gain = (mean(b) - mean(ref)) / mean(ref), so a negative gain means that `b` is faster. The paper's
numbers are means of the gains over all pages; its figures are their distribution
(`dragstrip.stats.ecdf`).

Source: Wolsing et al., "A Performance Perspective on Web Optimized Protocol Stacks", ANRW 2019,
section 4.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

Runs = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Times by page, as a pair: the reference's and the times of `b`."""


def gain(ref: Sequence[float], b: Sequence[float]) -> float:
    """Return the gain on one page. Raises `statistics.StatisticsError` without values."""
    return (fmean(b) - fmean(ref)) / fmean(ref)


def gains(runs: Runs) -> dict[str, float]:
    """Return the gain of every page."""
    return {page: gain(ref, b) for page, (ref, b) in runs.items()}
