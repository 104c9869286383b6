"""Equivalence: two one-sided tests (TOST) on the log-ratio.

"No difference could be shown" is not "there is none". Two stacks are equivalent within a margin if
a ratio of 1 / (1 + margin) or less and one of 1 + margin or more are both rejected; that is, if the
interval at level 1 - 2 alpha lies between the two.

Source: Schuirmann, "A comparison of the two one-sided tests procedure and the power approach for
assessing the equivalence of average bioavailability", J. Pharmacokinetics and Biopharmaceutics 15
(1987), 657-680. Margins we suggest: 5 % without random loss, 10 % with it.
"""

from dragstrip.stats.log_ratio import LogRatio


def tost(found: LogRatio, margin: float) -> float:
    """p of "the stacks differ by `margin` (0.05 is 5 %) or more"; small if they are equivalent.

    Raises `ValueError` if the margin is not above zero.
    """
    if margin <= 0:
        raise ValueError(f"an equivalence margin is above zero, not {margin}")
    return max(found.p_above(1 / (1 + margin)), found.p_below(1 + margin))
