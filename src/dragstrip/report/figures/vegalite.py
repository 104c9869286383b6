"""Helpers for the report's Vega-Lite figures: their parts as plain data, and their common style.

A page draws them with `dragstrip.report.vega`.
"""

from collections.abc import Sequence
from typing import Any

Spec = dict[str, Any]
"""A Vega-Lite chart, or a part of one."""
Row = dict[str, Any]
"""Values of a mark, by field."""

INK, SOFT, _GRID = "#1d2129", "#9aa0ab", "#e6e8ec"


def number(field: str, **more: Any) -> Spec:
    """Make a channel that encodes a field of numbers."""
    return {"field": field, "type": "quantitative", **more}


def name(field: str, **more: Any) -> Spec:
    """Make a channel that encodes a field of names."""
    return {"field": field, "type": "nominal", **more}


def layer(rows: Sequence[Row] | str, mark: str, looks: Spec, **encoding: Any) -> Spec:
    """Make marks for `rows`, which are rows or the name of a data set."""
    data = {"name": rows} if isinstance(rows, str) else {"values": list(rows)}
    return {"data": data, "mark": {"type": mark, **looks}, "encoding": encoding}


def figure(chart: Spec, described: str = "", **legend: Any) -> Spec:
    """Finish a chart with the report's fonts and colours. `described` says what it shows to a
    screen reader. `legend` overrides properties of its legend."""
    config = {
        "font": "Inter, 'Helvetica Neue', Arial, sans-serif",
        "background": "transparent",
        "view": {"stroke": None},
        "concat": {"spacing": 14},
        "axis": {
            "gridColor": _GRID,
            "domainColor": SOFT,
            "tickColor": SOFT,
            "labelColor": INK,
            "titleColor": INK,
            "titleFontWeight": "normal",
            "labelFontSize": 12,
            "titleFontSize": 12,
        },
        "legend": {"labelFontSize": 12, "orient": "top", **legend},
    }
    return (
        {"$schema": "https://vega.github.io/schema/vega-lite/v6.json", "config": config}
        | ({"description": described} if described else {})
        | chart
    )
