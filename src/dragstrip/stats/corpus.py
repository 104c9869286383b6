"""One ratio for a whole corpus of pages: the cluster bootstrap.

Runs of one page are not independent news about other pages: pooling 38 pages x 31 runs as 1178
observations makes intervals far too narrow. So whole pages are resampled, with all their blocks,
and every page weighs the same however many blocks it has. Resampling blocks inside a page again
would count the spread between blocks twice.

Source: Davison and Hinkley, "Bootstrap Methods and their Application" (1997), section 3.8
(hierarchical data: resample the top level only); interval: `dragstrip.stats.bootstrap`.
"""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from dragstrip.stats.bootstrap import expanded
from dragstrip.stats.paired import Ratio


def corpus_ratio(
    logs: Mapping[str, Sequence[float]], level: float = 0.95, draws: int = 2000, seed: int = 0
) -> Ratio:
    """Geometric mean over pages of b / a. `logs` are the blocks' log-ratios ln(b / a) by page.

    `n` counts pages. Raises `ValueError` if there is no page, or a page without blocks.
    """
    if not logs or not all(logs.values()):
        raise ValueError("a corpus needs pages, and every page a block")
    means = np.array([float(np.mean(found)) for found in logs.values()])
    picked = np.random.default_rng(seed).integers(len(means), size=(draws, len(means)))
    interval = expanded(means[picked].mean(axis=1), len(means), level)
    low, high = (math.exp(end) for end in interval) if interval else (None, None)
    return Ratio(math.exp(float(means.mean())), low, high, len(means))
