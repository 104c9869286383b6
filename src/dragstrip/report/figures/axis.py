"""Computes the tick positions of a time axis."""

from collections.abc import Sequence


def step(until_ms: float, most: int = 10, factors: Sequence[float] = (1, 2, 5)) -> float:
    """Return a round step that divides `until_ms` into at most `most` parts."""
    decade = 1.0
    while True:
        for factor in factors:
            if until_ms / (decade * factor) <= most:
                return decade * factor
        decade *= 10
