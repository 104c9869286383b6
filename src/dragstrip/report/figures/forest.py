"""Draws forest plots: each ratio and its interval as a line, on one axis for all rows of a
table."""

import math
from collections.abc import Sequence

from dragstrip.report.words.numbers import ratio
from dragstrip.results.compare.summary import Comparison

WIDTH, HEIGHT, MARGIN = 220, 22, 6
_LEAST = math.log(1.1)
"""Least half width of the axis, as a logarithm: 10 % to either side."""


def reach(comparisons: Sequence[Comparison]) -> float:
    """Return half the width of the axis, as a logarithm: wide enough for all intervals, but at most
    a factor of 8."""
    ends = [abs(math.log(x)) for c in comparisons for x in (c.least, c.most, c.ratio) if x]
    return min(max([_LEAST, *ends]), math.log(8))


def forest(c: Comparison | None, reach: float, colour: str) -> str:
    """Draw the plot of one row as SVG. An interval beyond the axis is cut off. Without a
    comparison, only the line at 1 is drawn."""

    def x(value: float) -> float:
        share = max(-1.0, min(1.0, math.log(value) / reach if value > 0 else -1.0))
        return WIDTH / 2 + share * (WIDTH / 2 - MARGIN)

    middle = HEIGHT / 2
    parts = [
        f'<svg class="forest" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        f'role="img" aria-label="{ratio(c) if c else "reference"}">',
        f'<line x1="{WIDTH / 2}" x2="{WIDTH / 2}" y1="0" y2="{HEIGHT}" stroke="#9aa0ab"/>',
    ]
    if c and c.least is not None and c.most is not None:
        parts.append(
            f'<line x1="{x(c.least):.1f}" x2="{x(c.most):.1f}" y1="{middle}" y2="{middle}" '
            f'stroke="{colour}" stroke-width="3"/>'
        )
    at = x(c.ratio) if c else WIDTH / 2
    parts.append(f'<circle cx="{at:.1f}" cy="{middle}" r="4.5" fill="{colour}"/></svg>')
    return "".join(parts)
