"""The figure of a cell in any metric: its ECDF above a strip of its visits.

One Vega-Lite specification serves every cell of a study; a cell adds only data, of every metric, so
that readers can choose one.
"""

import json
from typing import Any

import altair as alt
import numpy as np

from dragstrip.model.study import Study
from dragstrip.report.data.cells import ReportCell
from dragstrip.report.figures.palette import colour, dashes
from dragstrip.results.observed import BY_NAME
from dragstrip.stats.ecdf import ecdf

VegaSpec = dict[str, Any]

MOST_POINTS = 200
"""A longer curve is drawn through this many of its steps: more would not be visible."""

_WIDTH = 860
_INK, _GRID = "#1d2129", "#e6e8ec"
_FONT = "Inter, 'Helvetica Neue', Arial, sans-serif"


def curves(cell: ReportCell) -> dict[str, Any]:
    """By metric, by stack: `x` (seconds for times), `y` (share of visits at most x), the median
    `mid`, and `lost`, how many loads never got there. Metrics and stacks without a value are left
    out.

    Loads that failed or timed out hold the curve below 1 instead of being drawn at a time they
    never had.
    """
    found: dict[str, Any] = {}
    for metric in BY_NAME.values():
        scale = 1000.0 if metric.unit == "ms" else 1.0
        for result in cell.results:
            seen = cell.seen.of(result.stack.name, metric.name)
            ended = seen.values[~seen.censored & ~np.isnan(seen.values)] / scale
            if not len(ended):
                continue
            lost = int(seen.censored.sum())
            steps = ecdf(ended.tolist(), lost)
            kept = np.unique(np.linspace(0, len(steps) - 1, MOST_POINTS).astype(int))
            middle = result.medians[metric.name].value / scale
            found.setdefault(metric.name, {})[result.stack.name] = {
                "x": [float(f"{steps[i][0]:.5g}") for i in kept],
                "y": [round(steps[i][1], 4) for i in kept],
                "mid": float(f"{middle:.5g}") if 2 * lost < len(seen.known) else None,
                "lost": lost,
            }
    return found


def specification(study: Study) -> VegaSpec:
    """For the data sets `curves`, `points` and `middles`, which the page's script fills."""
    names = [s.name for s in study.stacks]
    tint = alt.Scale(domain=names, range=[colour(s.protocol) for s in study.stacks])
    patterns = alt.Scale(domain=names, range=[list(p) for p in dashes(study.stacks)])
    across = alt.Scale(zero=False, nice=True, padding=12)
    chart = (
        alt.vconcat(_curves(tint, patterns, across), _strip(names, tint, across))
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
    spec: VegaSpec = json.loads(chart.to_json())
    return spec


def _curves(tint: alt.Scale, patterns: alt.Scale, across: alt.Scale) -> alt.Chart:
    bare = alt.Axis(labels=False, tickCount=10)
    chart: alt.Chart = (
        alt.Chart(alt.NamedData(name="curves"))
        .mark_line(interpolate="step-after", strokeWidth=2)
        .encode(
            x=alt.X("x:Q", scale=across, title=None, axis=bare),
            y=alt.Y(
                "y:Q",
                title="share of visits",
                scale=alt.Scale(domain=[0, 1]),
                axis=alt.Axis(format="%", values=[0, 0.25, 0.5, 0.75, 1]),
            ),
            color=alt.Color("stack:N", scale=tint, title=None),
            strokeDash=alt.StrokeDash("stack:N", scale=patterns, title=None),
        )
        .properties(width=_WIDTH, height=220)
    )
    return chart


def _strip(names: list[str], tint: alt.Scale, across: alt.Scale) -> alt.LayerChart:
    x = alt.X("x:Q", scale=across, title="AXIS", axis=alt.Axis(tickCount=10))
    y = alt.Y("stack:N", sort=names, title=None, axis=alt.Axis(labelLimit=200, ticks=False))
    told = [alt.Tooltip("stack:N"), alt.Tooltip("x:Q", title="value", format=".4~g")]
    dots = (
        alt.Chart(alt.NamedData(name="points"))
        .mark_circle(size=46, opacity=0.7)
        .encode(
            x=x,
            y=y,
            yOffset=alt.YOffset("spread:Q", scale=alt.Scale(domain=[-1, 1])),
            color=alt.Color("stack:N", scale=tint, legend=None),
            tooltip=told,
        )
    )
    ticks = (
        alt.Chart(alt.NamedData(name="middles"))
        .mark_tick(thickness=2.5, size=34, color=_INK)
        .encode(x=x, y=y, tooltip=told)
    )
    # The curves' legend serves both; a shared scale would draw it twice.
    both = (dots + ticks).resolve_scale(color="independent")
    chart: alt.LayerChart = both.properties(width=_WIDTH, height=alt.Step(44))
    return chart
