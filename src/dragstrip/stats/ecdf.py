"""Computes the empirical distribution function, with observations censored at a common limit.

A censored observation counts in the denominator but never makes a step, so the curve ends below 1
by the share of loads that did not finish. With one common limit this is the Kaplan-Meier estimate.

Source: Kaplan and Meier, "Nonparametric estimation from incomplete observations", JASA 53 (1958),
457-481.
"""

from collections.abc import Sequence


def ecdf(values: Sequence[float], censored: int = 0) -> list[tuple[float, float]]:
    """Return steps (value, share of all observations at or below it), ascending, one per distinct
    value.

    `values` are the uncensored observations; `censored` is the number of observations that reached
    the limit.
    """
    total = len(values) + censored
    ordered = sorted(values)
    steps = {value: (i + 1) / total for i, value in enumerate(ordered)}
    return list(steps.items())
