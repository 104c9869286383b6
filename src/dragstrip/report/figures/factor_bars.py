"""Draws the steps from A to B: one bar per factor, which starts where the bar before ended."""

import math
from collections.abc import Callable, Iterator
from html import escape

from dragstrip.report.words.numbers import duration
from dragstrip.report.words.why import UNEXPLAINED, by_size, change, place
from dragstrip.results.compare.attribution import Pooled, Span, Why, WhyCell

WIDTH, ROW, LEFT, RIGHT, TOP, FOOT = 1100, 30, 310, 300, 34, 34
_STYLE = (
    "svg.why{width:100%;height:auto;display:block;font-size:13px;font-family:system-ui,sans-serif}"
    "svg.why text{fill:#1d2129}svg.why .soft{fill:#5c626e}svg.why .grid{stroke:#e6e8ec}"
    "svg.why .right{text-anchor:end}svg.why .middle{text-anchor:middle;fill:#5c626e}"
)
_Scale = Callable[[float], float]
_FASTER, _SLOWER, _OPEN, _END = "#1a9c86", "#b3261e", "#b9bec8", "#1d2129"


def drawing(answer: Why, found: WhyCell | Pooled) -> str:
    """Draw the chart as SVG. Its axis is logarithmic, so equal ratios have equal bars. A is at
    1."""
    steps: list[tuple[str, Span, bool]] = [(p.words, p, p.shown) for p in by_size(found)]
    left = found.unexplained
    shown = left.low is not None and left.high is not None and not left.low <= 1 <= left.high
    steps.append((UNEXPLAINED, left, shown))
    starts = [1.0]
    for _, one, _ in steps:
        starts.append(starts[-1] * one.ratio)
    ends = [
        at * edge
        for at, (_, one, _) in zip(starts, steps, strict=False)
        for edge in (one.low, one.high)
        if edge and math.isfinite(edge)
    ]
    low, high = _reach([*starts, *ends])

    def x(ratio: float) -> float:
        share = math.log(min(max(ratio, low), high) / low) / math.log(high / low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    height = TOP + ROW * (len(steps) + 2) + FOOT
    parts = [*_axis(low, high, x, height), *_end(answer.a, 0, x(1.0), _value(found, "a"))]
    for row, (at, (words, one, sure)) in enumerate(zip(starts, steps, strict=False), start=1):
        parts += _bar(row, (words, change(answer, one)), at, one, sure, x)
    parts += _end(answer.b, len(steps) + 1, x(starts[-1]), _value(found, "b"))
    label = escape(
        f"From {answer.a} to {answer.b} on {place(answer, found)}: {change(answer, found)}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="why" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" aria-label="{label}"><style>{_STYLE}</style>'
        f'<text x="0" y="16" font-weight="600">{escape(place(answer, found))}: '
        f"from {escape(answer.a)} to {escape(answer.b)}, {escape(change(answer, found))}</text>"
        f"{''.join(parts)}</svg>"
    )


def _reach(ratios: list[float]) -> tuple[float, float]:
    """Return the range of the axis: 2 % beyond the ratios on both sides, but at most a factor of
    8."""
    low, high = min(ratios) / 1.02, max(ratios) * 1.02
    return max(low, 1 / 8), min(high, 8.0)


def _axis(low: float, high: float, x: _Scale, height: int) -> Iterator[str]:
    for percent in _marks(low, high):
        at = x(1 + percent / 100)
        yield f'<path class="grid" d="M{at:.1f} {TOP - 6}V{height - FOOT + 4}"/>'
        sign = "\N{MINUS SIGN}" if percent < 0 else "+" if percent else ""
        text = f"{sign}{abs(percent):g} %"
        yield f'<text class="middle" x="{at:.1f}" y="{height - FOOT + 20}">{text}</text>'


def _marks(low: float, high: float) -> list[float]:
    width = (high - low) * 100
    step = next(s for s in (1, 2, 5, 10, 20, 50, 100, 200) if width / s <= 8)
    first = math.ceil((low - 1) * 100 / step)
    return [n * step for n in range(first, math.floor((high - 1) * 100 / step) + 1)]


def _end(name: str, row: int, at: float, value: str) -> Iterator[str]:
    middle = TOP + ROW * row + ROW / 2
    yield f'<text class="right" x="{LEFT - 14}" y="{middle + 4:.1f}" font-weight="600">'
    yield f"{escape(name)}</text>"
    yield f'<circle cx="{at:.1f}" cy="{middle:.1f}" r="6" fill="{_END}"/>'
    if value:
        yield f'<text x="{WIDTH - RIGHT + 14}" y="{middle + 4:.1f}">{escape(value)}</text>'


def _bar(
    row: int, texts: tuple[str, str], at: float, one: Span, sure: bool, x: _Scale
) -> Iterator[str]:
    """Yield the SVG of one bar, with `texts` to its left and right."""
    top, middle = TOP + ROW * row + 6, TOP + ROW * row + ROW / 2
    begin, end = x(at), x(at * one.ratio)
    fill = _OPEN if not sure else _FASTER if one.ratio < 1 else _SLOWER
    yield f'<text class="right" x="{LEFT - 14}" y="{middle + 4:.1f}">{escape(texts[0])}</text>'
    yield (
        f'<path d="M{begin:.1f} {top - 12}V{top + ROW - 12}" stroke="#8b8f98" stroke-width="0.7"/>'
    )
    yield (
        f'<rect x="{min(begin, end):.1f}" y="{top}" width="{max(abs(end - begin), 1):.1f}" '
        f'height="{ROW - 12}" fill="{fill}"/>'
    )
    if one.low is not None and one.high is not None:
        yield (
            f'<path d="M{x(at * one.low):.1f} {middle:.1f}H{x(at * one.high):.1f}" '
            'stroke="#1d2129" stroke-width="1.5"/>'
        )
    text = escape(texts[1])
    yield f'<text class="soft" x="{WIDTH - RIGHT + 14}" y="{middle + 4:.1f}">{text}</text>'


def _value(found: WhyCell | Pooled, side: str) -> str:
    if isinstance(found, Pooled):
        return ""
    return duration(found.value_a if side == "a" else found.value_b)
