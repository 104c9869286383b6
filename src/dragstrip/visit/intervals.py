"""Merges overlapping time intervals."""

from collections.abc import Iterable

Interval = tuple[float, float]
"""Start and end, in ms."""


def union(intervals: Iterable[Interval]) -> list[Interval]:
    """Return the time that the intervals cover, as disjoint intervals in order."""
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
    """Return the length in ms of the time that the intervals cover. Overlaps count once."""
    return sum(end - start for start, end in union(intervals))
