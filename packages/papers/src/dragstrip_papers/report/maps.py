"""Draws maps of a whole space: kakhki2017's map, which is blank where Welch's test finds nothing,
and a map of where the winner changes."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from dragstrip.model.stack import Stack
from dragstrip.report.figures.palette import colour
from dragstrip_papers.cells import Cell, cells
from dragstrip_papers.report.pairs import conditions, place, short, winner
from dragstrip_papers.report.style import INK, NONE, Figure, Row, data, figure, panels, two
from dragstrip_papers.stats.kakhki_map import percent_faster

BARE: dict[str, Any] = {"domain": False, "ticks": False, "grid": False}


def welch(loads: pl.DataFrame, a: Stack, b: Stack, metric: str) -> Figure | None:
    """Draw the percent by which `b` is faster than `a`. A tile is blank if Welch's test at 0.01
    finds no difference."""
    rows: list[Row] = []
    for cell in sorted(cells(loads, (a.name, b.name), metric, 2), key=conditions):
        found = percent_faster(list(cell.times[a.name]), list(cell.times[b.name]))
        rows.append(
            _cell(cell) | {"percent": found, "text": "" if found is None else f"{found:.0f}"}
        )
    if not rows:
        return None
    base = alt.Chart(data(rows)).encode(
        x=alt.X(
            "place:N",
            title=None,
            sort=list(dict.fromkeys(r["place"] for r in rows)),
            axis=alt.Axis(orient="top", labelAngle=-40, **BARE),
        ),
        y=alt.Y("page:N", title=None, sort=_lightest_first(rows), axis=alt.Axis(**BARE)),
        tooltip=["page:N", "place:N", alt.Tooltip("percent:Q", format=".1f")],
    )
    return figure(
        "welch-map",
        "Percent difference, blank without significance",
        f"Percent of {a.name}'s mean by which {b.name} is faster, {metric}; a cell is blank where "
        "Welch's test at p < 0.01 finds no difference, as Kakhki et al. (IMC 2017) draw it. "
        "Nothing corrects for the number of cells.",
        percent_tiles(base, a, b),
        rows,
    )


def percent_tiles(base: alt.Chart, a: Stack, b: Stack) -> alt.LayerChart:
    """Draw tiles that are coloured by the field `percent`, by which `b` is faster, and labelled by
    `text`; white for null."""
    slow, fast = two(a, b)
    scale = alt.Scale(domain=[-60, 0, 60], range=[slow, "#f4f5f7", fast], clamp=True)
    tiles = base.mark_rect(stroke="#d5d8de", strokeWidth=1).encode(
        color=alt.condition(
            "isValid(datum.percent)",
            alt.Color("percent:Q", title=f"% by which {b.name} is faster", scale=scale),
            alt.value("white"),
        )
    )
    text = base.mark_text(fontSize=10).encode(
        text="text:N",
        color=alt.condition("abs(datum.percent) > 40", alt.value("white"), alt.value(INK)),
    )
    made: alt.LayerChart = (tiles + text).properties(width=alt.Step(44), height=alt.Step(22))
    return made


def factor_map(loads: pl.DataFrame, stacks: Sequence[Stack], metric: str) -> Figure | None:
    """Draw where the winner changes over round trip, loss, rate and page; grey shows no
    difference."""
    rows: list[Row] = []
    for cell in sorted(cells(loads, [s.name for s in stacks], metric, 2), key=conditions):
        best, lead, shown = winner(cell, stacks)
        rows.append(
            _cell(cell)
            | {
                "winner": best if shown else "no difference shown",
                "fastest": best,
                "lead": lead,
                "strength": min(1.0, 0.35 + lead * 1.6) if shown else 1.0,
                "text": f"{lead * 100:.0f}" if shown else "·",
                "strong": shown and lead > 0.2,
                "blocks": cell.blocks,
            }
        )
    if not rows:
        return None
    names = [*(s.name for s in stacks), "no difference shown"]
    scale = alt.Scale(domain=names, range=[*_colours(stacks), NONE])
    order = _lightest_first(rows)

    def draw(mine: list[Row]) -> alt.LayerChart:
        first = mine[0]["panel"] == rows[0]["panel"]
        base = alt.Chart(data(mine)).encode(
            x=alt.X("rtt_ms:O", title="ms", axis=alt.Axis(labelAngle=0, **BARE)),
            y=alt.Y(
                "page:N",
                title=None,
                scale=alt.Scale(domain=order),
                axis=alt.Axis(labels=first, **BARE),
            ),
            tooltip=[
                "page:N",
                "place:N",
                "winner:N",
                "fastest:N",
                alt.Tooltip("lead:Q", format=".1%"),
                "blocks:Q",
            ],
        )
        tiles = base.mark_rect(stroke="white", strokeWidth=1.5).encode(
            color=alt.Color("winner:N", title=None, scale=scale),
            opacity=alt.Opacity("strength:Q", scale=None),
        )
        strong = alt.condition("datum.strong", alt.value("white"), alt.value(INK))
        text = base.mark_text(fontSize=10).encode(text="text:N", color=strong)
        made: alt.LayerChart = (tiles + text).properties(width=alt.Step(44), height=alt.Step(21))
        return made

    chart = panels(rows, "panel", draw, columns=8)
    return figure(
        "factor-map",
        "Where the winner flips",
        f"The stack with the lowest median {metric} over rate, loss, round trip and page (lightest "
        "above): coloured only where the 95 % interval of its ratio to the runner-up excludes 1, "
        "stronger with its lead, printed in percent. Grey with a dot: no difference shown. Each "
        "cell is tested alone; nothing corrects for their number.",
        chart,
        rows,
    )


def _cell(cell: Cell) -> Row:
    factors = cell.factors
    mode = "" if cell.connection == "first" else f", {cell.connection}"
    rate = f"{factors['rate_mbps']:g} Mbit/s" if "rate_mbps" in factors else "no limit"
    return {
        "page": short(cell.page) + mode,
        "place": place(cell),
        "network": cell.network,
        "page_bytes": factors.get("page_bytes", 0.0),
        "rate_mbps": factors.get("rate_mbps"),
        "rtt_ms": round(factors["rtt_ms"], 3),
        "loss": factors["loss"],
        "panel": f"{rate}, {factors['loss'] * 100:.2g} %",
    }


def _lightest_first(rows: list[Row]) -> list[str]:
    ordered = sorted(rows, key=lambda r: (r["page_bytes"], r["page"]))
    return list(dict.fromkeys(r["page"] for r in ordered))


def _colours(stacks: Sequence[Stack]) -> list[str]:
    """Return the colours of these stacks. Stacks of one protocol share its colour here; the tooltip
    distinguishes them."""
    return [colour(s.protocol) for s in stacks]
