"""Applies megyesi2016's 70 % / 10 % rule, which says which protocols win a scenario.

One protocol is better than another if at least 70 % of its loads took at most 90 % of the other's
mean. A protocol that is better than all others wins. Two protocols that are better than the third
but not than each other both win. Otherwise the scenario is EQUAL.

Source: Megyesi, Kramer and Molnar, "How quick is QUIC?", ICC 2016, section 4.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from statistics import fmean

SHARE = 0.70
FASTER = 0.10
EQUAL = "EQUAL"


def beats(a: Sequence[float], b: Sequence[float]) -> bool:
    """Return whether `a` is better than `b`. Raises `ValueError` if either has no loads."""
    if not a or not b:
        raise ValueError("the 70 % / 10 % rule needs loads of both protocols")
    bar = (1 - FASTER) * fmean(b)
    return sum(time <= bar for time in a) >= SHARE * len(a)


def winners(times: Mapping[str, Sequence[float]]) -> tuple[str, ...]:
    """Return the names of the protocols that win, in the order of `times`; empty means EQUAL."""
    better = {(a, b) for a in times for b in times if a != b and beats(times[a], times[b])}
    for size in range(1, len(times)):
        for group in combinations(times, size):
            rest = [name for name in times if name not in group]
            inside = any((a, b) in better for a in group for b in group)
            if not inside and all((a, b) in better for a in group for b in rest):
                return group
    return ()


def label(won: Sequence[str]) -> str:
    """Return the label in the paper: ``QUIC``, ``QUIC|SPDY`` or ``EQUAL``."""
    return "|".join(won) or EQUAL
