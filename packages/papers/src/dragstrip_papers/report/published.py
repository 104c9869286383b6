"""Draws a paper's own figures, as published and as measured here."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from dragstrip.model.stack import Stack
from dragstrip_papers.cells import cells
from dragstrip_papers.report.cdfs import seconds
from dragstrip_papers.report.maps import BARE, percent_tiles
from dragstrip_papers.report.pairs import short
from dragstrip_papers.report.style import Figure, Row, data, figure, panels, tint
from dragstrip_papers.stats.kakhki_map import percent_faster

PUBLISHED, HERE = "published", "here"


def load_times(loads: pl.DataFrame, shown: pl.DataFrame, stacks: Sequence[Stack]) -> Figure | None:
    """Draw distributions of load times; `shown` has the columns of `dragstrip_papers.digitised`.

    A panel is drawn only if every stack has loads here.
    """
    rows: list[Row] = []
    for (name, page, network), drawn in shown.group_by(
        ["figure", "page", "network"], maintain_order=True
    ):
        mine = loads.filter(page=page, network=network)
        if {s.name for s in stacks} - set(mine["stack"]):
            continue
        rate, rtt, loss = mine.select("rate_mbps", "rtt_ms", "loss").row(0)
        conditions = f"{rate:g} Mbit/s, {_conditions(str(network), loss, rtt)}"
        panel = {"panel": f"{name}: {short(str(page))}, {conditions}"}
        for stack in stacks:
            points = drawn.filter(stack=stack.name).select("seconds", "share").iter_rows()
            own = seconds(mine.filter(stack=stack.name))
            rows += [
                panel | {"stack": stack.name, "who": who, "seconds": s, "share": f}
                for who, steps in ((PUBLISHED, points), (HERE, own))
                for s, f in steps
            ]
    if not rows:
        return None

    def draw(mine: list[Row]) -> alt.Chart:
        made: alt.Chart = (
            alt.Chart(data(mine))
            .mark_line(strokeWidth=1.8)
            .encode(
                x=alt.X(
                    "seconds:Q",
                    title="page load time in seconds",
                    scale=alt.Scale(type="log", nice=False, padding=8),
                    axis=alt.Axis(tickCount=4, format="~g"),
                ),
                y=alt.Y(
                    "share:Q",
                    title="share of loads",
                    axis=alt.Axis(format="%", values=[0, 0.5, 1]),
                    scale=alt.Scale(domain=[0, 1]),
                ),
                color=alt.Color("stack:N", scale=tint(stacks), title=None),
                strokeDash=alt.StrokeDash(
                    "who:N",
                    scale=alt.Scale(domain=[HERE, PUBLISHED], range=[[1, 0], [4, 3]]),
                    title=None,
                ),
                tooltip=["who:N", "stack:N", alt.Tooltip("seconds:Q", format=".3f"), "share:Q"],
            )
            .properties(width=240, height=130)
        )
        return made

    return figure(
        "published-load-times",
        "Load times, published and here",
        "Share of loads that had finished by then. Dashed: the paper's curves, read from its "
        "figures. Whole lines: loads made here. Each panel has its own time axis, which is "
        "logarithmic.",
        panels(rows, "panel", draw),
        rows,
    )


def heat_maps(
    loads: pl.DataFrame, shown: pl.DataFrame, a: Stack, b: Stack, metric: str
) -> Figure | None:
    """Draw the percent by which `b` is faster than `a`, page by page and rate by rate. Only tiles
    that were visited here are drawn. `shown` has the columns of `dragstrip_papers.digitised`."""
    here = {
        (c.page, c.network): (
            c.factors,
            percent_faster(list(c.times[a.name]), list(c.times[b.name])),
        )
        for c in cells(loads, (a.name, b.name), metric, 2)
    }
    rows: list[Row] = []
    for name, page, network, percent in shown.iter_rows():
        if (page, network) not in here:
            continue
        factors, found = here[page, network]
        panel = f"{name}, {_conditions(network, factors['loss'], factors['rtt_ms'])}"
        rows += [
            {
                "panel": f"{panel}: {who}",
                "page": short(page),
                "rate": f"{factors['rate_mbps']:g}",
                "percent": value,
                "text": "" if value is None else f"{value:.0f}",
            }
            for who, value in ((PUBLISHED, percent), (HERE, found))
        ]
    if not rows:
        return None

    def draw(mine: list[Row]) -> alt.LayerChart:
        base = alt.Chart(data(mine)).encode(
            x=alt.X(
                "rate:N",
                title="Mbit/s",
                sort=[row["rate"] for row in mine],
                axis=alt.Axis(labelAngle=0, **BARE),
            ),
            y=alt.Y(
                "page:N", title=None, sort=[row["page"] for row in mine], axis=alt.Axis(**BARE)
            ),
            tooltip=["page:N", "rate:N", alt.Tooltip("percent:Q", format=".1f")],
        )
        return percent_tiles(base, a, b)

    return figure(
        "published-heat-maps",
        "Heat maps, published and here",
        f"Percent of {a.name}'s mean page load time by which {b.name} is faster; blank where "
        "Welch's test at p < 0.01 finds no difference, on both sides. Published values are read "
        "from colours, to ± 8 points, and end at -100. Only tiles that were visited here.",
        panels(rows, "panel", draw, columns=4),
        rows,
    )


def _conditions(network: str, loss: float, rtt_ms: float) -> str:
    told = [f"{rtt_ms:g} ms", f"{loss:.0%} loss" if loss else ""]
    return ", ".join([*filter(None, told), *(["reordered"] if "jitter" in network else [])])
