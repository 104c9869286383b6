"""Draws cook2017's Tukey boxes, and wolsing2019's boxes of server parity."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from dragstrip.model.stack import Stack
from dragstrip.stats.tukey import box
from dragstrip_papers.report.pairs import short
from dragstrip_papers.report.style import INK, Figure, Row, data, figure, panels, tint

KEYS = ["page", "connection", "network", "stack"]


def boxes(
    loads: pl.DataFrame, stacks: Sequence[Stack], name: str, title: str, source: str
) -> Figure | None:
    """Draw one panel per page and connection mode, with one box per network and stack. None without
    loads."""
    rows: list[Row] = []
    outliers: list[Row] = []
    names = [s.name for s in stacks]
    kept = loads.filter(pl.col("plt_ms").is_not_null() & pl.col("stack").is_in(names))
    ordered = kept.sort("page", "connection", "rate_mbps", "loss", "rtt_ms", "stack")
    for (page, connection, network, stack), cell in ordered.group_by(KEYS, maintain_order=True):
        found = box((cell["plt_ms"] / 1000).to_list())
        place = {
            "panel": f"{labelled(short(str(page)), cell)}, {connection} visits",
            "network": network,
            "stack": stack,
        }
        rows.append(
            place
            | {n: getattr(found, n) for n in ("low", "q1", "median", "q3", "high", "n")}
            | {"censored": int(cell["censored"].sum())}
        )
        outliers += [place | {"seconds": value} for value in found.outliers]
    if not rows:
        return None
    seen = {r["stack"] for r in rows}
    shown = [s for s in stacks if s.name in seen]
    chart = _panels(rows, outliers, shown)
    ended = sum(r["censored"] for r in rows)
    note = f" {ended} loads never finished; they are drawn at the client's limit." if ended else ""
    return figure(
        name,
        title,
        "Box: quartiles and median. Whiskers: the last load within 1.5 times the box's height; "
        f"circles: loads beyond, which are drawn and never removed. {source}{note}",
        chart,
        rows,
    )


def labelled(page: str, loads: pl.DataFrame) -> str:
    """Return a page's name. The name of a chosen stand-in says that it is one, because it is the
    name of a site."""
    return f"{page} (stand-in)" if loads["standin"].any() and "standin" not in page else page


def _panels(rows: list[Row], outliers: list[Row], stacks: Sequence[Stack]) -> alt.TopLevelMixin:
    order = [s.name for s in stacks]

    def draw(mine: list[Row]) -> alt.LayerChart | alt.FacetChart:
        axis = alt.Axis(labelAngle=-40, grid=False)
        beyond = [o for o in outliers if o["panel"] == mine[0]["panel"]]
        places = list(dict.fromkeys(r["network"] for r in mine))

        def chart(rows: list[Row]) -> alt.Chart:
            found: alt.Chart = alt.Chart(data(rows)).encode(
                x=alt.X("network:N", title=None, sort=places, axis=axis),
                xOffset=alt.XOffset("stack:N", scale=alt.Scale(domain=order)),
            )
            return found

        told = ["stack:N", "network:N", alt.Tooltip("median:Q", format=".3f"), "n:Q", "censored:Q"]
        whiskers = chart(mine).mark_rule(color=INK)
        bodies = chart(mine).mark_bar()
        layers = [
            whiskers.encode(y=alt.Y("low:Q", title="page load time in seconds"), y2="high:Q"),
            bodies.encode(
                y="q1:Q",
                y2="q3:Q",
                color=alt.Color("stack:N", scale=tint(stacks), title=None),
                tooltip=told,
            ),
            chart(mine).mark_tick(color=INK, thickness=1.5).encode(y="median:Q"),
            chart(beyond).mark_point(size=14, color=INK, strokeWidth=1).encode(y="seconds:Q"),
        ]
        width = max(28, 20 * len(order)) * len(places)
        made = alt.layer(*layers)
        return made.properties(width=width, height=170)

    return panels(rows, "panel", draw, columns=2)
