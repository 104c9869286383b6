"""Draws biswal2016's figures: the ratio of two stacks over the page's objects and the network.

Figures 3 and 4 of the paper are bars; the map shows the whole space at once.
"""

import altair as alt
import polars as pl

from dragstrip.model.stack import Stack
from dragstrip.report.words import numbers as words
from dragstrip_papers.report.pairs import PairRatio, conditions, pairs, place, short
from dragstrip_papers.report.style import (
    INK,
    NONE,
    Figure,
    Row,
    data,
    figure,
    pale,
    panels,
    size,
    two,
)
from dragstrip_papers.stats.biswal_share import LOADS

SAID = {
    "a": "{a} faster",
    "b": "{b} faster",
    "same": "the same within 5 %",
    "open": "no difference shown",
    "few a": "{a} ahead in too few loads",
    "few b": "{b} ahead in too few loads",
}


def bars(loads: pl.DataFrame, a: Stack, b: Stack, metric: str) -> Figure | None:
    """Draw one panel per network with one bar per page, grouped by the number of objects."""
    rows = _rows(loads, a, b, metric)
    if not rows:
        return None
    sizes = sorted({r["object_bytes"] for r in rows})
    counts = sorted({r["objects"] for r in rows})
    furthest = max(max(r["ratio"], 1 / r["ratio"]) for r in rows) * 1.15
    ends = [1 / max(furthest, 1.5), max(furthest, 1.5)]
    ticks = [t for t in (0.1, 0.2, 0.25, 0.5, 0.8, 1, 1.25, 2, 4, 5, 10) if ends[0] < t < ends[1]]
    ratio = alt.Scale(type="log", domain=ends, nice=False)
    standings = _standings(rows, a, b)

    def panel(mine: list[Row]) -> alt.LayerChart | alt.FacetChart:
        base = alt.Chart(data(mine)).encode(
            x=alt.X(
                "objects:O",
                title="objects",
                scale=alt.Scale(domain=counts),
                axis=alt.Axis(labelAngle=0, grid=False),
            ),
            xOffset=alt.XOffset("object_bytes:O", scale=alt.Scale(domain=sizes)),
        )
        marks = base.mark_bar().encode(
            y=alt.Y(
                "ratio:Q",
                scale=ratio,
                title=f"{b.name} / {a.name}",
                axis=alt.Axis(values=ticks, format="~g"),
            ),
            y2=alt.Y2Datum(1),
            color=alt.Color("standing:N", title=None, scale=standings),
            tooltip=[
                "page:N",
                "place:N",
                alt.Tooltip("ratio:Q", format=".3f"),
                "interval:N",
                "blocks:Q",
            ],
        )
        spread = (
            base.transform_filter("isValid(datum.low)")
            .mark_rule(color=INK, strokeWidth=0.8, clip=True)
            .encode(y=alt.Y("low:Q", scale=ratio), y2="high:Q")
        )
        line = alt.Chart(data([{}])).mark_rule(color=INK, strokeWidth=0.8)
        one = line.encode(y=alt.YDatum(1, scale=ratio))
        return alt.layer(marks, spread, one).properties(width=240, height=130)

    return figure(
        "ratio-bars",
        "Ratio of load times by objects, size and network",
        f"{b.name} / {a.name}, medians of the first {LOADS} loads, {metric}, on a logarithmic "
        f"scale: a bar below 1 means that {b.name} is faster. Bars with the same number of objects "
        f"are sorted by object size ({', '.join(size(s) for s in sizes)}). Thin lines: 95 % "
        "interval. As figures 3 and 4 of the paper.",
        panels(rows, "place", panel),
        rows,
    )


def ratio_map(
    loads: pl.DataFrame, a: Stack, b: Stack, metric: str, name: str, title: str
) -> Figure | None:
    """Draw pages by networks. A cell that shows no difference is grey."""
    rows = _rows(loads, a, b, metric)
    if not rows:
        return None
    order = sorted(
        rows, key=lambda r: (r["page_bytes"] if r["site"] else 0, r["object_bytes"], r["objects"])
    )
    base = alt.Chart(data(rows)).encode(
        x=alt.X(
            "place:N",
            title=None,
            sort=list(dict.fromkeys(r["place"] for r in rows)),
            axis=alt.Axis(orient="top", labelAngle=-40, domain=False, ticks=False, grid=False),
        ),
        y=alt.Y(
            "page:N",
            title=None,
            sort=list(dict.fromkeys(r["page"] for r in order)),
            axis=alt.Axis(domain=False, ticks=False, grid=False),
        ),
        tooltip=[
            "page:N",
            "place:N",
            "standing:N",
            alt.Tooltip("ratio:Q", format=".3f"),
            "interval:N",
            "blocks:Q",
        ],
    )
    tiles = base.mark_rect(stroke="white", strokeWidth=1.5).encode(
        color=alt.Color("standing:N", title=None, scale=_standings(rows, a, b)),
        opacity=alt.Opacity("strength:Q", scale=None),
    )
    text = base.mark_text(fontSize=10).encode(
        text="label:N",
        color=alt.condition(
            "datum.strength > 0.6 && datum.shown", alt.value("white"), alt.value(INK)
        ),
    )
    return figure(
        name,
        title,
        f"Each cell: {b.name} / {a.name}, {metric}, medians of the first {LOADS} loads. Coloured "
        "where the 95 % interval of that cell alone excludes 1, stronger the further from it; “=” "
        "is shown to be the same within 5 %, “?” shows no difference. Pale: fewer than "
        "five loads, which have no interval. Empty cells were not run.",
        (tiles + text).properties(width=alt.Step(46), height=alt.Step(22)),
        rows,
    )


def _standings(rows: list[Row], a: Stack, b: Stack) -> alt.Scale:
    """Return the colours of the rows' results. Pale colours (too few loads) are included only if
    needed."""
    slow, fast = two(a, b)
    always = {"a": slow, "b": fast, "same": "#c3c7ce", "open": NONE}
    pales = {"few a": pale(slow), "few b": pale(fast)}
    met = {r["standing"] for r in rows}
    tones = {_said(key, a, b): tone for key, tone in always.items()}
    tones |= {said: tone for key, tone in pales.items() if (said := _said(key, a, b)) in met}
    return alt.Scale(domain=list(tones), range=list(tones.values()))


def _said(standing: str, a: Stack, b: Stack) -> str:
    return SAID[standing].format(a=a.name, b=b.name)


def _rows(loads: pl.DataFrame, a: Stack, b: Stack, metric: str) -> list[Row]:
    found = pairs(loads, a.name, b.name, metric, take=LOADS)
    return [_row(p, a, b) for p in sorted(found, key=lambda p: conditions(p.cell))]


def _row(pair: PairRatio, a: Stack, b: Stack) -> Row:
    cell, ratio = pair.cell, pair.ratio
    shown = pair.standing in ("a", "b")
    return {
        "page": short(cell.page),
        "network": cell.network,
        "place": place(cell),
        "objects": int(cell.factors.get("objects", 0)),
        "object_bytes": cell.factors.get("object_bytes", 0.0),
        "page_bytes": cell.factors.get("page_bytes", 0.0),
        "site": "x" not in short(cell.page),
        "ratio": ratio,
        "low": None if pair.low is None else max(pair.low, 0.01),
        "high": None if pair.high is None else min(pair.high, 100.0),
        "interval": words.interval(ratio, pair.low, pair.high),
        "standing": _said(pair.standing, a, b),
        "shown": shown,
        "strength": min(1.0, 0.3 + 1.2 * abs(pair.log2)) if shown else 1.0,
        "label": {"same": "=", "open": "?"}.get(pair.standing, f"{ratio:.2f}"),
        "blocks": cell.blocks,
    }
