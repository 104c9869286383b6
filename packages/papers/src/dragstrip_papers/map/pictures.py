"""Draws the pictures of a factor map: median ratios over two factors and loss."""

from typing import Any

import altair as alt
import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragstrip.report.figures.palette import PROTOCOL
from dragstrip.study.sample import Sample
from dragstrip_papers.map.sampled import ratios
from dragstrip_papers.map.survey import PAIRS
from dragstrip_papers.report.style import INK, Figure, Row, data, figure

_LOSS = ((0.0, 0.0, "no loss"), (1e-9, 0.003, "up to 0.3 %"), (0.003, 1.0, "0.3 to 3 %"))
_FEWEST = 4
"""Fewest cells of a tile that is drawn."""


def network_map(cells: pl.DataFrame, sample: Sample) -> Figure:
    """Draw the median ratio over rate, round trip and loss, all pages together."""
    across = ("down_mbps", "rate (Mbit/s)"), ("rtt_ms", "round trip (ms)")
    return _map("map-network", "Rate, round trip and loss", across, cells, sample)


def page_map(cells: pl.DataFrame, sample: Sample) -> Figure:
    """Draw the median ratio over page weight, objects and loss, all networks together."""
    across = ("page_bytes", "page weight (kB)"), ("objects", "objects")
    return _map("map-page", "Page weight, objects and loss", across, cells, sample)


def _map(
    name: str,
    title: str,
    across: tuple[tuple[str, str], tuple[str, str]],
    cells: pl.DataFrame,
    sample: Sample,
) -> Figure:
    rows = [row for pair in PAIRS for row in _tiles(pair, across, cells, sample)]
    (x, x_title), (y, y_title) = across
    many = _bins(cells)
    panels = []
    for pair, (a, b) in PAIRS.items():
        line = []
        for _, _, loss in _LOSS:
            mine = [r for r in rows if r["pair"] == pair and r["loss"] == loss]
            line.append(
                _panel(
                    mine, x_title, y_title, _labels(sample, x, many), _labels(sample, y, many)
                ).properties(title=f"{b} / {a}, {loss}", width=250, height=190)
            )
        panels.append(alt.hconcat(*line, spacing=20))
    return figure(
        name,
        title,
        f"Percent by which h3 loads faster than h2 (positive) in the median of a tile's cells; "
        f"tiles of fewer than {_FEWEST} cells stay white.",
        alt.vconcat(*panels, spacing=16),
        rows,
    )


def _panel(rows: list[Row], x: str, y: str, xs: list[str], ys: list[str]) -> alt.LayerChart:
    h2, h3 = PROTOCOL["h2"], PROTOCOL["h3"]
    bare: dict[str, Any] = {"domain": False, "ticks": False, "grid": False, "labelAngle": 0}
    base = alt.Chart(data(rows)).encode(
        x=alt.X("x:N", title=x, scale=alt.Scale(domain=xs), axis=alt.Axis(**bare)),
        y=alt.Y("y:N", title=y, scale=alt.Scale(domain=ys[::-1]), axis=alt.Axis(**bare)),
    )
    scale = alt.Scale(domain=[-25, 0, 25], range=[h2, "#f4f5f7", h3], clamp=True, interpolate="rgb")
    tiles = base.mark_rect(stroke="white").encode(
        color=alt.Color("faster:Q", title="h3 faster by %", scale=scale)
    )
    white = alt.condition("abs(datum.faster) > 14", alt.value("white"), alt.value(INK))
    text = base.mark_text(fontSize=9).encode(text=alt.Text("faster:Q", format=".0f"), color=white)
    made: alt.LayerChart = tiles + text
    return made


def _tiles(
    pair: str,
    across: tuple[tuple[str, str], tuple[str, str]],
    cells: pl.DataFrame,
    sample: Sample,
) -> list[Row]:
    ratio = ratios(cells, *PAIRS[pair])
    (x, _), (y, _) = across
    bins = {name: _bin(cells, sample, name) for name in (x, y)}
    loss = cells["loss"].to_numpy()
    found: list[Row] = []
    for low, high, said in _LOSS:
        here = (loss >= low) & (loss <= high) & ~np.isnan(ratio)
        for i, x_label in enumerate(_labels(sample, x, _bins(cells))):
            for j, y_label in enumerate(_labels(sample, y, _bins(cells))):
                mine = ratio[here & (bins[x] == i) & (bins[y] == j)]
                if len(mine) < _FEWEST:
                    continue
                middle = float(np.median(mine))
                # The lead is in percent of the slower stack's time, so that both sides of 1 look
                # alike.
                faster = 100 * (1 - middle) if middle <= 1 else -100 * (1 - 1 / middle)
                found.append(
                    {
                        "pair": pair,
                        "loss": said,
                        "x": x_label,
                        "y": y_label,
                        "cells": len(mine),
                        "ratio": middle,
                        "faster": round(faster, 1),
                    }
                )
    return found


def _bins(cells: pl.DataFrame) -> int:
    """Return the number of tiles along each axis, such that most tiles have enough cells."""
    return 5 if len(cells) < 4000 else 7


def _bin(cells: pl.DataFrame, sample: Sample, name: str) -> NDArray[np.int_]:
    low, high = getattr(sample, name)
    at = np.log(cells[name].cast(pl.Float64).to_numpy() / low) / np.log(high / low)
    found: NDArray[np.int_] = np.clip((at * _bins(cells)).astype(int), 0, _bins(cells) - 1)
    return found


def _labels(sample: Sample, name: str, bins: int) -> list[str]:
    """Label each bin with its middle."""
    low, high = getattr(sample, name)
    unit = 1000 if name == "page_bytes" else 1
    middles = (low * (high / low) ** ((i + 0.5) / bins) / unit for i in range(bins))
    return [f"{float(f'{middle:.2g}'):g}" for middle in middles]
