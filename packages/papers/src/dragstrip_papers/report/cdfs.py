"""Draws distribution functions: of load times (megyesi2016, ranjan2019), and of gains
(wolsing2019)."""

from collections.abc import Sequence

import altair as alt
import polars as pl

from dragstrip.model.stack import Stack
from dragstrip.stats.ecdf import ecdf
from dragstrip_papers.cells import aligned
from dragstrip_papers.measured import Evidence
from dragstrip_papers.report.pairs import short
from dragstrip_papers.report.style import Figure, Row, dash, data, figure, panels, tint
from dragstrip_papers.stats.wolsing_gain import gain


def load_times(loads: pl.DataFrame, stacks: Sequence[Stack], source: str) -> Figure | None:
    """Draw one panel per page and network. Loads that never finished keep a curve below 1."""
    rows: list[Row] = []
    kept = loads.filter(pl.col("plt_ms").is_not_null())
    keys = ["page", "network", "connection"]
    ordered = kept.sort("page_bytes", "page", "rate_mbps", "rtt_ms", "loss", "connection")
    for (page, network, connection), cell in ordered.group_by(keys, maintain_order=True):
        mode = "" if connection == "first" else f", {connection}"
        panel = f"{short(str(page))} over {network}{mode}"
        for stack in stacks:
            rows += [
                {"panel": panel, "stack": stack.name, "seconds": s, "share": f}
                for s, f in seconds(cell.filter(pl.col("stack") == stack.name))
            ]
    if not rows:
        return None
    return figure(
        "load-times",
        "Distribution of page load times",
        "Share of loads that had finished by then; each panel has its own time axis. Loads that "
        f"failed or timed out keep their curve below 100 %. {source}",
        _curves(rows, stacks, "panel", "seconds", "page load time in seconds", "share of loads"),
        rows,
    )


def seconds(loads: pl.DataFrame) -> list[tuple[float, float]]:
    """Return steps of the loads' distribution: page load times in seconds, and the share of loads
    that had finished by then. The share stays below 1 if some loads never finished. Empty if no
    load finished."""
    times = (loads.filter(~pl.col("censored"))["plt_ms"] / 1000).to_list()
    return [(min(times), 0.0), *ecdf(times, len(loads) - len(times))] if times else []


def gains(
    evidence: Evidence, stacks: Sequence[Stack], ref: str, metrics: dict[str, str]
) -> Figure | None:
    """Draw the gains of the mean against `ref` over pages, negative for a faster stack.

    There is one panel per network and metric; `metrics` maps a column to its short name.
    """
    rows: list[Row] = []
    for network in dict.fromkeys(evidence.loads["network"]):
        there = [cell for cell in evidence.cells if cell.network == network]
        for metric, name in metrics.items():
            for stack in stacks:
                if stack.name == ref:
                    continue
                found = aligned(there, (ref, stack.name), metric)
                values = [gain(list(c.times[ref]), list(c.times[stack.name])) for c in found]
                if len(values) < 2:
                    continue
                rows += [
                    {"panel": f"{network}, {name}", "stack": stack.name, "gain": g, "share": f}
                    for g, f in [(min(values), 0.0), *ecdf(values)]
                ]
    if not rows:
        return None
    pages = evidence.loads["page"].n_unique()
    chart = _curves(rows, stacks, "panel", "gain", f"gain on {ref}", "share of pages", percent=True)
    return figure(
        "gain-cdf",
        f"Gain on {ref} over the pages",
        f"(mean - mean of {ref}) / mean of {ref} of each page; left of zero the stack is faster. "
        f"{pages} pages here, 38 in the paper. As figure 3 of the paper.",
        chart,
        rows,
    )


def _curves(
    rows: list[Row],
    stacks: Sequence[Stack],
    panel: str,
    x: str,
    title: str,
    share: str,
    *,
    percent: bool = False,
) -> alt.TopLevelMixin:
    seen = {r["stack"] for r in rows}
    shown = [s for s in stacks if s.name in seen]

    def draw(mine: list[Row]) -> alt.LayerChart | alt.FacetChart:
        lines = (
            alt.Chart(data(mine))
            .mark_line(interpolate="step-after", strokeWidth=1.8)
            .encode(
                x=alt.X(
                    f"{x}:Q",
                    title=title,
                    scale=alt.Scale(zero=False),
                    axis=alt.Axis(tickCount=5, format="%" if percent else "~g"),
                ),
                y=alt.Y("share:Q", title=share, axis=alt.Axis(format="%", values=[0, 0.5, 1])),
                color=alt.Color("stack:N", scale=tint(shown), title=None),
                strokeDash=alt.StrokeDash("stack:N", scale=dash(shown), title=None),
                tooltip=["stack:N", alt.Tooltip(f"{x}:Q", format=".3f"), "share:Q"],
            )
        )
        zero = alt.Chart(data([{}])).mark_rule(color="#9aa0ab", strokeDash=[3, 3])
        layers = [zero.encode(x=alt.XDatum(0)), lines] if percent else [lines]
        chart = alt.layer(*layers)
        return chart.properties(width=240, height=120)

    return panels(rows, panel, draw)
