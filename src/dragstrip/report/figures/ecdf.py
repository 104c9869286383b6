"""Makes the figure of a cell for any metric: an ECDF above a strip with its visits.

All cells of a study use one Vega-Lite specification. Each cell adds only data, for every metric, so
that readers can choose a metric.
"""

from typing import Any

import numpy as np

from dragstrip.model.study import Study
from dragstrip.report.data.cells import ReportCell
from dragstrip.report.figures.palette import colour, dashes
from dragstrip.report.figures.vegalite import INK, Spec, figure, layer, name, number
from dragstrip.stats.ecdf import ecdf
from dragstrip.visit.objects import find_metric

MOST_POINTS = 200
"""Most steps of a drawn curve; more steps would not be visible."""

_WIDTH = 860


def curves(cell: ReportCell) -> dict[str, Any]:
    """Return curves by metric and stack: `x` (in seconds for times), `y` (share of visits with a
    value of at most x), the median `mid`, and `lost`, the number of loads without a value. Metrics
    and stacks without a value are left out.

    Loads that failed or timed out have no step, so the curve ends below 1.
    """
    found: dict[str, Any] = {}
    for metric in map(find_metric, cell.seen.metrics):
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


def specification(study: Study) -> Spec:
    """Return the figure's specification. The page's script fills its data sets `curves`, `points`
    and `middles`."""
    names = [s.name for s in study.stacks]
    tint = {"domain": names, "range": [colour(s.protocol) for s in study.stacks]}
    patterns = {"domain": names, "range": [list(p) for p in dashes(study.stacks)]}
    across = {"zero": False, "nice": True, "padding": 12}
    chart = {
        "vconcat": [_curves(tint, patterns, across), _strip(names, tint, across)],
        "resolve": {"scale": {"x": "shared"}},
    }
    said = "AXIS: share of visits by value, and every visit, stack by stack"
    return figure(chart, said, symbolStrokeWidth=2.5, symbolSize=320)


def _curves(tint: Spec, patterns: Spec, across: Spec) -> Spec:
    bare = {"labels": False, "tickCount": 10}
    shares = {"format": "%", "values": [0, 0.25, 0.5, 0.75, 1]}
    drawn = layer(
        "curves",
        "line",
        {"interpolate": "step-after", "strokeWidth": 2},
        x=number("x", scale=across, title=None, axis=bare),
        y=number("y", title="share of visits", scale={"domain": [0, 1]}, axis=shares),
        color=name("stack", scale=tint, title=None),
        strokeDash=name("stack", scale=patterns, title=None),
    )
    return {**drawn, "width": _WIDTH, "height": 220}


def _strip(names: list[str], tint: Spec, across: Spec) -> Spec:
    x = number("x", scale=across, title="AXIS", axis={"tickCount": 10})
    y = name("stack", sort=names, title=None, axis={"labelLimit": 200, "ticks": False})
    told = [name("stack"), number("x", title="value", format=".4~g")]
    dots = layer(
        "points",
        "circle",
        {"size": 46, "opacity": 0.7},
        x=x,
        y=y,
        yOffset=number("spread", scale={"domain": [-1, 1]}),
        color=name("stack", scale=tint, legend=None),
        tooltip=told,
    )
    ticks = layer(
        "middles", "tick", {"thickness": 2.5, "size": 34, "color": INK}, x=x, y=y, tooltip=told
    )
    return {
        "layer": [dots, ticks],
        # The legend of the curves serves both; with a shared scale it would be drawn twice.
        "resolve": {"scale": {"color": "independent"}},
        "width": _WIDTH,
        "height": {"step": 44},
    }
