"""Stretches of time."""

from collections.abc import Iterable

Interval = tuple[float, float]
"""Start and end, in ms."""


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """What they cover: stretches apart from each other, in order."""
    merged: list[Interval] = []
    for start, end in sorted(intervals):
        if end < start:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def union_ms(intervals: Iterable[Interval]) -> float:
    """Length of what the intervals cover, overlaps counted once."""
    return sum(end - start for start, end in union(intervals))
