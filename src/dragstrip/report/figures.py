"""Vega-Lite figures: page load times of a cell as ECDF above a strip of all visits."""

import json
from typing import Any

import altair as alt

from dragstrip.report.cells import Cell, StackResult
from dragstrip.report.palette import colour, dashes
from dragstrip.stats.ecdf import ecdf

Spec = dict[str, Any]

_WIDTH = 860
_INK, _GRID = "#1d2129", "#e6e8ec"
_FONT = "Inter, 'Helvetica Neue', Arial, sans-serif"


def load_times(cell: Cell) -> Spec | None:
    """A Vega-Lite specification; None if no load of the cell came to its end.

    Loads that failed or timed out hold the ECDF below 1 and are named beside the strip instead of
    being drawn at a time they never had.
    """
    results = [r for r in cell.results if len(r.loads) > r.censored]
    if not results:
        return None
    names = [_label(r) for r in cell.results]
    tint = alt.Scale(domain=names, range=[colour(r.stack.protocol) for r in cell.results])
    patterns = [list(p) for p in dashes([r.stack for r in cell.results])]
    dash = alt.Scale(domain=names, range=patterns)
    seconds = alt.Scale(zero=False, nice=True, padding=12)
    chart = (
        alt.vconcat(_curves(results, tint, dash, seconds), _strip(results, names, tint, seconds))
        .resolve_scale(x="shared")
        .configure(font=_FONT, background="transparent")
        .configure_view(stroke=None)
        .configure_concat(spacing=14)
        .configure_axis(
            gridColor=_GRID,
            domainColor="#9aa0ab",
            tickColor="#9aa0ab",
            labelColor=_INK,
            titleColor=_INK,
            titleFontWeight="normal",
            labelFontSize=12,
            titleFontSize=12,
        )
        .configure_legend(labelFontSize=12, symbolStrokeWidth=2.5, symbolSize=320, orient="top")
    )
    spec: Spec = json.loads(chart.to_json())
    return spec


def _label(result: StackResult) -> str:
    """The stack's name, with the loads the strip cannot show."""
    if not result.censored:
        return result.stack.name
    return f"{result.stack.name} (+{result.censored} not loaded)"


def _times(result: StackResult) -> list[float]:
    return [o.value_ms / 1000 for o in result.loads if not o.censored]


def _curves(
    results: list[StackResult], tint: alt.Scale, dash: alt.Scale, seconds: alt.Scale
) -> alt.Chart:
    lowest = min(min(_times(r)) for r in results)
    highest = max(max(_times(r)) for r in results)
    margin = (highest - lowest) * 0.04 or 0.05
    rows = []
    for result in results:
        steps = ecdf(_times(result), result.censored)
        # Every curve runs over the whole axis, so that none seems to begin or end at a visit.
        ends = [(lowest - margin, 0.0), *steps, (highest + margin, steps[-1][1])]
        rows += [{"stack": _label(result), "seconds": s, "share": f} for s, f in ends]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X(
                "seconds:Q", scale=seconds, title=None, axis=alt.Axis(labels=False, tickCount=10)
            ),
            y=alt.Y(
                "share:Q",
                title="share of visits",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
            ),
            color=alt.Color("stack:N", scale=tint, title=None),
            strokeDash=alt.StrokeDash("stack:N", scale=dash, title=None),
        )
        .properties(width=_WIDTH, height=220)
    )
    return chart


def _strip(
    results: list[StackResult], names: list[str], tint: alt.Scale, seconds: alt.Scale
) -> alt.LayerChart:
    points = [
        {"stack": _label(r), "seconds": s, "spread": _spread(i)}
        for r in results
        for i, s in enumerate(_times(r))
    ]
    x = alt.X(
        "seconds:Q",
        scale=seconds,
        title="page load time in seconds",
        axis=_ticks(labels=True),
    )
    y = alt.Y("stack:N", sort=names, title=None, axis=alt.Axis(labelLimit=200, ticks=False))
    tinted = alt.Color("stack:N", scale=tint, legend=None)
    dots = (
        alt.Chart(alt.InlineData(values=points))
        .mark_circle(size=46, opacity=0.7)
        .encode(
            x=x,
            y=y,
            yOffset=alt.YOffset("spread:Q", scale=alt.Scale(domain=[-1, 1])),
            color=tinted,
            tooltip=[
                alt.Tooltip("stack:N"),
                alt.Tooltip("seconds:Q", title="page load time (s)", format=".3f"),
            ],
        )
    )
    medians = [
        {"stack": _label(r), "seconds": m.value / 1000}
        for r in results
        if (m := r.medians["plt_ms"]) and 2 * r.censored < len(r.loads)
    ]
    ticks = (
        alt.Chart(alt.InlineData(values=medians))
        .mark_tick(thickness=2.5, size=34, color=_INK)
        .encode(x=x, y=y, tooltip=[alt.Tooltip("seconds:Q", title="median (s)", format=".3f")])
    )
    # The curves' legend speaks for both; a shared scale would draw it twice.
    both = (dots + ticks).resolve_scale(color="independent")
    chart: alt.LayerChart = both.properties(width=_WIDTH, height=alt.Step(44))
    return chart


def _ticks(*, labels: bool) -> alt.Axis:
    return alt.Axis(labels=labels, tickCount=10)


def _spread(index: int) -> float:
    """A place across the strip, -0.6..0.6: by the golden ratio, so neighbours stay apart and a
    redrawn report is the same."""
    return ((index * 0.618034) % 1 - 0.5) * 1.2
