"""Evaluates the A/A control: one stack under two names, so every difference that is shown is a
false alarm.

If testbed and test work as they should, the number of false alarms is binomial (comparisons,
alpha). The noise floor is the size of the differences that the testbed shows between equal stacks.

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
    """Upper end of the 95 % interval of the true rate of false alarms; `low` is the lower end."""
    p: float
    """Probability of at least this many false alarms if the rate is really `alpha`."""

    @property
    def rate(self) -> float:
        return self.alarms / self.comparisons


def false_alarms(found: Sequence[bool], alpha: float) -> FalseAlarms:
    """Return the rate of false alarms. `found` says for each independent A/A comparison whether it
    showed a difference at 1 - `alpha`. Raises `ValueError` without comparisons."""
    if not found:
        raise ValueError("no A/A comparison, no rate of false alarms")
    n, k = len(found), sum(found)
    low = float(betaincinv(k, n - k + 1, 0.025)) if k else 0.0
    high = float(betaincinv(k + 1, n - k, 0.975)) if k < n else 1.0
    chance = float(bdtrc(k - 1, n, alpha)) if k else 1.0
    return FalseAlarms(n, k, alpha, low, high, chance)


def noise_floor(ratios: Sequence[float], share: float = 0.95) -> float:
    """Return the difference, as a fraction, below which `share` of the A/A ratios stay. A ratio and
    its inverse count the same. Raises `ValueError` without ratios."""
    if not ratios:
        raise ValueError("no A/A comparison, no noise floor")
    return math.exp(float(np.quantile(np.abs(np.log(ratios)), share))) - 1
