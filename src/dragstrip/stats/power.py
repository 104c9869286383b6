"""What difference a number of runs can show, from the noncentral t distribution.

Source: Cohen, "Statistical Power Analysis for the Behavioral Sciences", 2nd edition, chapter 2.
"""

import math

from scipy.special import nctdtr, stdtrit


def detectable(n: int, *, alpha: float, power: float, paired: bool) -> float:
    """The least true difference that a two-sided t test finds with probability `power`.

    In standard deviations: of one sample (`paired=False`, `n` values a side), or of the blocks'
    differences (`paired=True`, `n` blocks). For times, a standard deviation of the logs is about
    the coefficient of variation, so 0.9 at a CV of 4 % is a difference of 3.6 %.
    Raises `ValueError` below two.
    """
    if n < 2:
        raise ValueError(f"{n} runs show nothing; give at least 2")
    from scipy.optimize import brentq

    freedom = n - 1 if paired else 2 * n - 2
    scale = math.sqrt(n if paired else n / 2)
    critical = float(stdtrit(freedom, 1 - alpha / 2))

    def lacking(effect: float) -> float:
        return 1 - float(nctdtr(freedom, effect * scale, critical)) - power

    return float(brentq(lacking, 0, 2 * (critical + 6) / scale))
