"""A sampled study as a map: what the interactive page computes from, and the pictures."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import msgspec
import numpy as np
import polars as pl
from msgspec import Struct
from numpy.typing import NDArray

from dragstrip.report.palette import PROTOCOL
from dragstrip.report.paper_figures.style import INK, Figure, Row, data, figure
from dragstrip.results.sampled import FACTORS, ratios
from dragstrip.stats import nearest
from dragstrip.study.sample import Sample

Pair = tuple[str, str]
Floats = NDArray[np.float64]
STOCK: Pair = ("h2", "h3")
TUNED: Pair = ("h2+", "h3+")
PAIRS = {"stock": STOCK, "tuned": TUNED}
SAID = {"b": "h3", "neither": "neither", "a": "h2"}
"""`dragstrip.stats.nearest.ANSWERS` for these pairs."""
_GREY = "#e4e6ea"
_LOSS = ((0.0, 0.0, "no loss"), (1e-9, 0.003, "up to 0.3 %"), (0.003, 1.0, "0.3 to 3 %"))
_FEWEST = 4
"""Cells of a tile that is drawn."""


class Standing(Struct, frozen=True, kw_only=True):
    """How well left-out cells are told by their neighbours, of one pair."""

    answers: dict[str, int]
    """Cells by answer."""
    right: float
    """Share of cells told rightly."""
    trust: list[nearest.Trust]


class Map(Struct, frozen=True, kw_only=True):
    weights: tuple[float, ...]
    """By factor, in the order of `FACTORS`."""
    standing: dict[str, Standing]


def places(cells: pl.DataFrame, sample: Sample) -> Floats:
    """A row a cell, a column a factor: 0 and 1 are the ends of its range. Loss stands as in the
    sample: cells without any at 0, the smallest at the share of those."""
    columns = []
    for name in FACTORS:
        low, high = getattr(sample, name)
        values = cells[name].cast(pl.Float64).to_numpy()
        with np.errstate(divide="ignore"):
            at = np.log(values / low) / np.log(high / low)
        if name == "loss":
            at = np.where(values > 0, sample.lossless + (1 - sample.lossless) * at, 0.0)
        columns.append(at)
    return np.stack(columns, axis=1)


def surveyed(cells: pl.DataFrame, sample: Sample) -> Map:
    """Weights are found on every second cell; what is said of trust is of the others, whose
    neighbours are all cells. Raises `ValueError` for fewer cells than neighbours need."""
    where = places(cells, sample)
    answers = {name: nearest.outcomes(ratios(cells, *pair)) for name, pair in PAIRS.items()}
    even, odd = np.arange(len(where)) % 2 == 0, np.arange(len(where)) % 2 == 1
    weights = nearest.weights(where[even], [found[even] for found in answers.values()])
    standing = {}
    for name, found in answers.items():
        voted = nearest.votes(where * np.asarray(weights), found)[odd]
        standing[name] = Standing(
            answers={SAID[a]: int((found == i).sum()) for i, a in enumerate(nearest.ANSWERS)},
            right=float((voted.argmax(axis=1) == found[odd]).mean()),
            trust=nearest.trust(voted, found[odd]),
        )
    return Map(weights=weights, standing=standing)


def page_data(cells: pl.DataFrame, sample: Sample, found: Map) -> bytes:
    """A script that sets `dragstripMap`: pages that open from a disk may load scripts, not JSON."""
    stacks = [stack for pair in PAIRS.values() for stack in pair]
    told: dict[str, Any] = {
        "planned": sample.cells,
        "factors": FACTORS,
        "ranges": [getattr(sample, name) for name in FACTORS],
        "lossless": sample.lossless,
        "weights": found.weights,
        "neighbours": nearest.NEIGHBOURS,
        "margin": nearest.MARGIN,
        "pairs": PAIRS,
        "stacks": stacks,
        "standing": found.standing,
        "cells": [_row(row, stacks) for row in cells.iter_rows(named=True)],
    }
    return b"window.dragstripMap = " + msgspec.json.encode(told) + b";\n"


def _row(cell: Row, stacks: Sequence[str]) -> list[float | None]:
    times = (cell[f"plt_ms_{s}"] for s in stacks)
    return [
        *(_plain(cell[name]) for name in FACTORS),
        *(None if t is None else _plain(round(t, 1 if t < 1000 else 0)) for t in times),
    ]


def _plain(value: float) -> float:
    """Without the digits that only take room."""
    return int(value) if value == int(value) else float(f"{value:.6g}")


def network_map(cells: pl.DataFrame, sample: Sample) -> Figure:
    """The median ratio over rate, round trip and loss, all pages together."""
    across = ("down_mbps", "rate (Mbit/s)"), ("rtt_ms", "round trip (ms)")
    return _map("map-network", "Rate, round trip and loss", across, cells, sample)


def page_map(cells: pl.DataFrame, sample: Sample) -> Figure:
    """The median ratio over page weight, objects and loss, all networks together."""
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
    scale = alt.Scale(domain=[-50, 0, 50], range=[h2, "#f4f5f7", h3], clamp=True)
    tiles = base.mark_rect(stroke="white").encode(
        color=alt.Color("faster:Q", title="h3 faster by %", scale=scale)
    )
    white = alt.condition("abs(datum.faster) > 28", alt.value("white"), alt.value(INK))
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
                # The slower one's time is the measure, so that both sides of 1 look alike.
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
    """Along each axis: what leaves a good number of cells in most tiles."""
    return 5 if len(cells) < 4000 else 7


def _bin(cells: pl.DataFrame, sample: Sample, name: str) -> NDArray[np.int_]:
    low, high = getattr(sample, name)
    at = np.log(cells[name].cast(pl.Float64).to_numpy() / low) / np.log(high / low)
    return np.clip((at * _bins(cells)).astype(int), 0, _bins(cells) - 1)


def _labels(sample: Sample, name: str, bins: int) -> list[str]:
    """The middle of each bin."""
    low, high = getattr(sample, name)
    unit = 1000 if name == "page_bytes" else 1
    middles = (low * (high / low) ** ((i + 0.5) / bins) / unit for i in range(bins))
    return [f"{float(f'{middle:.2g}'):g}" for middle in middles]
