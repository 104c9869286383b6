"""Computes wolsing2019's counts: on how many pages one stack is significantly faster.

The test is a one-way ANOVA of the runs of two stacks, page by page, at p < 0.01. If it rejects, the
stack with the lower mean counts as faster. With two groups the test is the pooled t test. Nothing
corrects for the number of pages, so among 38 pages without any difference 0.38 are expected to be
counted. `holm` counts the same with that correction.

Source: Wolsing et al., ANRW 2019, section 4.
"""

from collections.abc import Sequence
from statistics import fmean

import numpy as np
from msgspec import Struct

from dragstrip.stats.holm import holm
from dragstrip_papers.stats.wolsing_gain import Runs


class Counts(Struct, frozen=True, kw_only=True):
    """Pages on which `b` is faster or slower than the reference, or neither could be shown."""

    faster: int
    slower: int
    none: int


class AnovaCounts(Struct, frozen=True, kw_only=True):
    printed: Counts
    """Counts as the paper makes them."""
    holm: Counts
    """Counts with p values adjusted for the number of pages."""


def anova_counts(runs: Runs, alpha: float = 0.01) -> AnovaCounts:
    """Count the pages on which stacks differ. Raises `ValueError` if a page has fewer than two runs
    of a stack."""
    if any(min(len(ref), len(b)) < 2 for ref, b in runs.values()):
        raise ValueError("an ANOVA needs at least two runs of each stack on every page")
    p = _p_of_pages(runs)
    faster = [fmean(b) < fmean(ref) for ref, b in runs.values()]
    return AnovaCounts(
        printed=_count(p, faster, alpha),
        holm=_count(holm(p), faster, alpha),
    )


def _p_of_pages(runs: Runs) -> list[float]:
    from scipy.stats import f_oneway  # slow to import

    found: dict[str, float] = {}
    alike: dict[tuple[int, int], list[str]] = {}
    for page, (ref, b) in runs.items():
        if len({*ref, *b}) == 1:
            found[page] = 1.0  # no spread at all: SciPy would divide by zero
        else:
            alike.setdefault((len(ref), len(b)), []).append(page)
    for pages in alike.values():  # one call for all pages with the same number of runs
        refs, others = ([runs[page][side] for page in pages] for side in (0, 1))
        p = f_oneway(np.array(refs), np.array(others), axis=1).pvalue
        found |= dict(zip(pages, p.tolist(), strict=True))
    return [found[page] for page in runs]


def _count(p: Sequence[float], faster: Sequence[bool], alpha: float) -> Counts:
    shown = [quick for value, quick in zip(p, faster, strict=True) if value < alpha]
    return Counts(faster=sum(shown), slower=len(shown) - sum(shown), none=len(p) - len(shown))
