"""Ratio of two stacks from observations that share no blocks.

Difference of the means of the logs, with Welch's t: the two samples may differ in size and spread.

Source: Welch, "The generalization of 'Student's' problem when several different population
variances are involved", Biometrika 34 (1947), 28-35 (degrees of freedom by Satterthwaite).
"""

import math
from collections.abc import Sequence

import numpy as np

from dragstrip.stats.log_ratio import LogRatio


def unpaired(a: Sequence[float], b: Sequence[float]) -> LogRatio:
    """ln(b / a) of the geometric means of two independent samples of positive values.

    Raises `ValueError` if a sample is empty or a value is not positive.
    """
    if not a or not b:
        raise ValueError(f"a ratio needs values on both sides, not {len(a)} and {len(b)}")
    if min(*a, *b) <= 0:
        raise ValueError("a ratio needs positive values")
    logs_a, logs_b = np.log(np.asarray(a, dtype=float)), np.log(np.asarray(b, dtype=float))
    mean, n = float(logs_b.mean() - logs_a.mean()), min(len(a), len(b))
    if n < 2:
        return LogRatio(mean, None, 0, n)
    part_a = float(logs_a.var(ddof=1)) / len(a)
    part_b = float(logs_b.var(ddof=1)) / len(b)
    total = part_a + part_b
    spread = part_a**2 / (len(a) - 1) + part_b**2 / (len(b) - 1)
    freedom = total**2 / spread if spread > 0 else len(a) + len(b) - 2
    return LogRatio(mean, math.sqrt(total), freedom, n)
