"""Holds what all figures of papers share: fonts, colours, and the rows that they are drawn from."""

from collections.abc import Callable, Sequence
from typing import Any

import altair as alt
import vl_convert
from msgspec import Struct

from dragstrip.model.stack import Stack
from dragstrip.report.figures.palette import colour, dashes

Row = dict[str, Any]
INK, SOFT, GRID, NONE = "#1d2129", "#5c626e", "#e6e8ec", "#eceef1"
"""Colours of text, labels and grid. `NONE` marks cells that show no difference."""
OTHER = "#c05a00"
"""The second colour if both stacks speak the same protocol."""
_FONT = "Inter, 'Helvetica Neue', Arial, sans-serif"


class Figure(Struct, frozen=True, kw_only=True):
    name: str
    """File name without suffix."""
    title: str
    caption: str
    """What the figure shows, how to read it, and which figure of the paper it redraws."""
    spec: dict[str, Any]
    """The figure as a Vega-Lite chart."""
    rows: list[Row]
    """The numbers behind the figure, for export."""

    def __repr__(self) -> str:
        return f"Figure({self.name!r}, {len(self.rows)} rows)"

    def _repr_svg_(self) -> str:
        """Return the figure as SVG, for display in a notebook."""
        svg: str = vl_convert.vegalite_to_svg(self.spec)
        return svg


def figure(
    name: str, title: str, caption: str, chart: alt.TopLevelMixin, rows: list[Row]
) -> Figure:
    styled = (
        chart.configure(font=_FONT, background="white")
        .configure_view(stroke=None)
        .configure_axis(
            gridColor=GRID,
            domainColor="#9aa0ab",
            tickColor="#9aa0ab",
            labelColor=INK,
            titleColor=SOFT,
            titleFontWeight="normal",
            labelFontSize=11,
            titleFontSize=11,
            labelLimit=260,
        )
        .configure_header(labelFontSize=12, labelColor=INK, title=None, labelFontWeight=600)
        .configure_title(fontSize=12, color=INK, fontWeight=600, anchor="start", offset=6)
        .configure_concat(spacing=22)
        .configure_legend(
            labelFontSize=11, titleFontSize=11, titleFontWeight="normal", orient="top"
        )
    )
    spec = styled.to_dict(validate=False)  # validating every row takes seconds
    return Figure(name=name, title=title, caption=caption, spec=spec, rows=rows)


def panels(
    rows: Sequence[Row],
    key: str,
    draw: Callable[[list[Row]], alt.Chart | alt.LayerChart | alt.FacetChart],
    *,
    columns: int = 3,
) -> alt.ConcatChart:
    """Return one chart per value of `key`, titled by it, in the rows' order.

    Vega-Lite facets would not do: they lose the order of a list.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[key], []).append(row)
    charts = [draw(group).properties(title=name) for name, group in groups.items()]
    made: alt.ConcatChart = alt.concat(*charts, columns=columns, spacing=26)
    return made


class _Rows(alt.InlineData):
    """Rows that Altair does not copy each time it combines charts, which would take seconds."""

    def __deepcopy__(self, _: object) -> "_Rows":
        return self


def data(rows: Sequence[Row]) -> alt.InlineData:
    return _Rows(values=list(rows))


def tint(stacks: Sequence[Stack]) -> alt.Scale:
    """Return one colour per protocol; see `dragstrip.report.figures.palette`."""
    return alt.Scale(domain=[s.name for s in stacks], range=[colour(s.protocol) for s in stacks])


def dash(stacks: Sequence[Stack]) -> alt.Scale:
    return alt.Scale(domain=[s.name for s in stacks], range=[list(d) for d in dashes(stacks)])


def two(a: Stack, b: Stack) -> tuple[str, str]:
    """Return two distinguishable colours."""
    first, second = colour(a.protocol), colour(b.protocol)
    return (first, second) if first != second else (first, OTHER)


def pale(tone: str) -> str:
    """Return a ``#rrggbb`` that is three quarters of the way from `tone` to white."""
    parts = (int(tone[i : i + 2], 16) for i in (1, 3, 5))
    return "#" + "".join(f"{255 - (255 - part) // 4:02x}" for part in parts)


def size(count: float) -> str:
    """Write a size in short decimal form: ``100 B``, ``10 kB``, ``2.4 MB``."""
    if count >= 1e6:
        return f"{count / 1e6:.3g} MB"
    return f"{count / 1e3:.3g} kB" if count >= 1000 else f"{count:.3g} B"
