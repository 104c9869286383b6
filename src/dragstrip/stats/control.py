"""The A/A control: the same stack under two names, so that every difference found is a false alarm.

False alarms at alpha are binomial (comparisons, alpha) if the testbed and the test are honest. The
noise floor is how large a difference the testbed shows between things that do not differ.

Source: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of
the binomial", Biometrika 26 (1934), 404-413 (interval of the rate); Abedi and Brecht, "Conducting
repeatable experiments in highly variable cloud computing environments", ICPE 2017 (why to check).
"""

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from scipy.special import bdtrc, betaincinv


class FalseAlarms(Struct, frozen=True):
    comparisons: int
    alarms: int
    alpha: float
    low: float
    high: float
    """95 % interval of the true rate of false alarms."""
    p: float
    """Probability of this many alarms or more if the rate is really `alpha`."""

    @property
    def rate(self) -> float:
        return self.alarms / self.comparisons


def false_alarms(found: Sequence[bool], alpha: float) -> FalseAlarms:
    """`found` says which of independent A/A comparisons showed a difference at 1 - `alpha`. Raises
    `ValueError` without any."""
    if not found:
        raise ValueError("no A/A comparison, no rate of false alarms")
    n, k = len(found), sum(found)
    low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
    chance = float(bdtrc(k - 1, n, alpha)) if k else 1.0
    return FalseAlarms(n, k, alpha, low, high, chance)


def noise_floor(ratios: Sequence[float], share: float = 0.95) -> float:
    """Difference, as a share of 1, below which `share` of the A/A ratios stay. A ratio and its
    inverse count the same. Raises `ValueError` without ratios."""
    if not ratios:
        raise ValueError("no A/A comparison, no noise floor")
    return math.exp(float(np.quantile(np.abs(np.log(ratios)), share))) - 1
