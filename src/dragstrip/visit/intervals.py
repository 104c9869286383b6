"""Stretches of time."""

from collections.abc import Iterable

Interval = tuple[float, float]
"""Start and end, in ms."""


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """What they cover: stretches apart from each other, in order."""
    found: list[Interval] = []
    for start, end in sorted(intervals):
        if end < start:
            continue
        if found and start <= found[-1][1]:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((start, end))
    return found


def union_ms(intervals: Iterable[Interval]) -> float:
    """Length of what the intervals cover, overlaps counted once."""
    return sum(end - start for start, end in union(intervals))
