"""Draws traces of rates and delays as small charts on a terminal."""

from collections.abc import Sequence
from itertools import pairwise

from dragstrip.model.trace import DelayTrace, Trace
from dragstrip.model.units import plain

_EIGHTHS = " " + "".join(chr(0x2581 + i) for i in range(8))
"""Block characters from empty to full."""
_ROWS = 4
_MARGIN = 14
_SHORTEST_MS = 100.0
"""Least time in ms that a column spans, because Mahimahi's opportunities have no momentary rate."""


def sparkline(trace: Trace, width: int) -> list[str]:
    """Draw the mean rate over time as lines of block characters. Each column is one stretch of
    time; each line has at most `width` columns."""
    columns = _columns(trace.lap_ms, width)
    edges = [trace.lap_ms * i / columns for i in range(columns + 1)]
    carried = [trace.bytes_until(at) for at in edges[:-1]] + [trace.lap_bytes]
    span_ms = trace.lap_ms / columns
    return _chart([(b - a) * 8 / span_ms / 1000 for a, b in pairwise(carried)], "Mbit/s")


def delay_line(trace: DelayTrace, width: int) -> list[str]:
    """Draw the longest delay of each stretch of time as lines of block characters."""
    columns = _columns(trace.lap_ms, width)
    span_ms = trace.lap_ms / columns
    spans = ((i * span_ms, (i + 1) * span_ms * (1 - 1e-9)) for i in range(columns))
    return _chart([trace.between(begin, end)[1] for begin, end in spans], "ms")


def delays(trace: DelayTrace) -> str:
    """Return a sentence with the shortest, mean and longest delay."""
    return f"least {trace.least_ms:.3g}, mean {trace.mean_ms:.3g}, most {trace.most_ms:.3g} ms"


def _columns(lap_ms: float, width: int) -> int:
    return max(1, min(width - _MARGIN, 100, int(lap_ms / _SHORTEST_MS) or 1))


def _chart(values: Sequence[float], unit: str) -> list[str]:
    top = max(values) or 1.0
    heights = [round(value / top * _ROWS * 8) or (1 if value > 0 else 0) for value in values]
    lines = []
    for row in reversed(range(_ROWS)):
        blocks = "".join(_EIGHTHS[min(max(h - row * 8, 0), 8)] for h in heights)
        label = f"{plain(round(top, 3))} {unit}" if row == _ROWS - 1 else "0" if row == 0 else ""
        lines.append(f"{label:>{_MARGIN - 1}} {blocks}".rstrip())
    return lines


def outages(trace: Trace) -> str:
    """Return a sentence with the lowest, mean and highest rate, and the time without any rate."""
    if not trace.steps:
        longest = max((b - a for a, b in pairwise(trace.opportunities_ms)), default=0)
        return f"mean {trace.mean_mbps:.3g} Mbit/s; at most {longest} ms between two opportunities"
    lasting = [(b - a, rate) for (a, rate), (b, _) in pairwise(trace.steps)]
    rates = [rate for _, rate in lasting]
    nothing = sum(span for span, rate in lasting if rate == 0)
    said = f"least {min(rates):.3g}, mean {trace.mean_mbps:.3g}, most {max(rates):.3g} Mbit/s"
    return f"{said}; nothing passes for {nothing:.3g} s" if nothing else said
