"""Draws the picture of a discipline: each entry's ratio to the leader with its interval, on one
axis."""

import math
from collections.abc import Callable, Iterator, Sequence
from html import escape

from dragstrip.league.standings import GAP, Standing

WIDTH, ROW, TOP, FOOT = 720, 26, 14, 40
_LETTER = 8
"""Width of a letter of a name or a rank, at most."""
_STYLE = (
    "text{font-family:system-ui,sans-serif;font-size:13px;fill:#1d2129}"
    ".soft{fill:#5c626e}.right{text-anchor:end}.middle{text-anchor:middle;fill:#5c626e}"
)
_FIRST, _OTHER, _BEHIND = "#1a9c86", "#5b6bd6", "#b3261e"
_Scale = Callable[[float], float]
_MARKS = (1, 1.05, 1.1, 1.25, 1.5, 2, 3, 4, 6, 8, 12, 16)


def drawing(standings: Sequence[Standing]) -> str:
    """Return the picture as SVG. The axis is logarithmic; ratios above 16 are cut off."""
    there = [one for one in standings if one.ratio is not None]
    ends = [x for one in there for x in (one.ratio, one.high) if x and math.isfinite(x)]
    reach = max([1 + GAP, *ends])
    most = next((mark for mark in _MARKS if mark >= reach), _MARKS[-1]) * 1.03
    least = 1 / 1.03
    left = 28 + _LETTER * max((len(one.name) for one in there), default=0)
    right = WIDTH - 14 - _LETTER * max((len(_rank(one)) for one in there), default=0)

    def x(ratio: float) -> float:
        share = math.log(min(max(ratio, least), most) / least) / math.log(most / least)
        return left + share * (right - 14 - left)

    height = TOP + ROW * len(there) + FOOT
    rows = "".join(part for n, one in enumerate(there) for part in _row(n, one, left, right, x))
    axis = "".join(
        f'<path d="M{x(mark):.1f} {TOP}V{height - FOOT}" stroke="#e6e8ec"/>'
        f'<text class="middle" x="{x(mark):.1f}" y="{height - FOOT + 18}">{mark:g}</text>'
        for mark in _spaced(most, x)
    )
    label = "times the leader's; lower is faster"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{label}"><style>{_STYLE}</style>{axis}{rows}'
        f'<text class="middle" x="{(left + right) / 2}" y="{height - 4}">{label}</text>'
        "</svg>"
    )


def _spaced(most: float, x: _Scale) -> Iterator[float]:
    """Yield values for labels of the axis that do not overlap."""
    last = -math.inf
    for mark in _MARKS:
        if mark <= most and x(mark) - last > 34:
            last = x(mark)
            yield mark


def _rank(one: Standing) -> str:
    return f"rank {one.rank}, {one.ratio:.3f}"


def _row(n: int, one: Standing, left: float, right: float, x: _Scale) -> Iterator[str]:
    middle = TOP + ROW * n + ROW / 2
    assert one.ratio is not None
    fill = _FIRST if one.best == 1 else _BEHIND if one.gap == "shown" else _OTHER
    yield f'<text class="right" x="{left - 14}" y="{middle + 4:.1f}">{escape(one.name)}</text>'
    if one.low is not None and one.high is not None:
        yield (
            f'<path d="M{x(one.low):.1f} {middle}H{x(one.high):.1f}" stroke="{fill}" '
            'stroke-width="3"/>'
        )
    yield f'<circle cx="{x(one.ratio):.1f}" cy="{middle}" r="4.5" fill="{fill}"/>'
    yield f'<text class="soft" x="{right}" y="{middle + 4:.1f}">{_rank(one)}</text>'
