"""Evaluates a sampled study: makes predictions from neighbours, and the data of the interactive
page."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import polars as pl
from msgspec import Struct
from numpy.typing import NDArray

from dragstrip.study.sample import Sample
from dragstrip_papers.map.sampled import SAMPLED_FACTORS, ratios
from dragstrip_papers.stats import nearest

ComparedStacks = tuple[str, str]
Floats = NDArray[np.float64]
STOCK: ComparedStacks = ("h2", "h3")
TUNED: ComparedStacks = ("h2+", "h3+")
PAIRS = {"stock": STOCK, "tuned": TUNED}

PACKET_BYTES = 1500
SHORT_QUEUE = 4
"""Number of packets: for queues that hold fewer, the load generator and Chromium agree less often
(docs/results/map.md)."""
QUEUE_PACKETS = pl.col("queue_ms") * pl.col("down_mbps") * 1000 / 8 / PACKET_BYTES
"""Number of packets that the downstream queue holds."""


class NearestStanding(Struct, frozen=True, kw_only=True):
    """How well neighbours predict left-out cells, for one pair of stacks."""

    right: float
    """Share of cells predicted correctly."""
    trust: list[nearest.Trust]


class Agreement(Struct, frozen=True, kw_only=True):
    """Agreement between the map and other visits to the same cells."""

    cells: int
    same: int
    """Number of cells in which both name the same answer: h3, h2 or neither."""
    opposite: int
    """Number of cells in which one names h3 and the other h2."""
    rank: float | None
    """Spearman's rank correlation of the ratios; None for fewer than three cells."""


class PairAgreement(Struct, frozen=True, kw_only=True):
    """Agreement between the map and other visits, for one pair of stacks."""

    whole: Agreement
    short: Agreement | None
    """Agreement in cells whose queue holds fewer than `SHORT_QUEUE` packets; None if no such cell
    was visited."""
    longer: Agreement | None


class Map(Struct, frozen=True, kw_only=True):
    weights: tuple[float, ...]
    """Weights by factor, in the order of `SAMPLED_FACTORS`."""
    standing: dict[str, NearestStanding]


def places(cells: pl.DataFrame, sample: Sample) -> Floats:
    """Return one row per cell and one column per factor. 0 and 1 are the ends of the factor's
    range. Loss is placed as in the sample: cells without loss at 0, the smallest loss at the share
    of those cells."""
    columns = []
    for name in SAMPLED_FACTORS:
        low, high = getattr(sample, name)
        values = cells[name].cast(pl.Float64).to_numpy()
        with np.errstate(divide="ignore"):
            at = np.log(values / low) / np.log(high / low)
        if name == "loss":
            at = np.where(values > 0, sample.lossless + (1 - sample.lossless) * at, 0.0)
        columns.append(at)
    return np.stack(columns, axis=1)


def surveyed(cells: pl.DataFrame, sample: Sample) -> Map:
    """Make a map of the cells. Every second cell serves to choose the weights. The others serve to
    measure trust, with all cells as neighbours. Raises `ValueError` if there are too few cells for
    neighbours."""
    where = places(cells, sample)
    answers = {name: nearest.outcomes(ratios(cells, *pair)) for name, pair in PAIRS.items()}
    even, odd = np.arange(len(where)) % 2 == 0, np.arange(len(where)) % 2 == 1
    weights = nearest.weights(where[even], [found[even] for found in answers.values()])
    standing = {}
    for name, found in answers.items():
        voted = nearest.votes(where * np.asarray(weights), found)[odd]
        standing[name] = NearestStanding(
            right=float((voted.argmax(axis=1) == found[odd]).mean()),
            trust=nearest.trust(voted, found[odd]),
        )
    return Map(weights=weights, standing=standing)


def page_data(
    cells: pl.DataFrame, sample: Sample, found: Map, checked: Mapping[str, PairAgreement]
) -> bytes:
    """Return a script that sets `dragstripMap`, because a page that is opened from a disk may load
    scripts but not JSON. `checked` is the agreement with Chromium by pair, empty if Chromium
    visited no cell."""
    stacks = [stack for pair in PAIRS.values() for stack in pair]
    told: dict[str, Any] = {
        "planned": sample.cells,
        "factors": SAMPLED_FACTORS,
        "ranges": [getattr(sample, name) for name in SAMPLED_FACTORS],
        "lossless": sample.lossless,
        "weights": found.weights,
        "neighbours": nearest.NEIGHBOURS,
        "margin": nearest.MARGIN,
        "packet_bytes": PACKET_BYTES,
        "short_queue": SHORT_QUEUE,
        "pairs": PAIRS,
        "stacks": stacks,
        "standing": found.standing,
        "checked": checked,
        "cells": [_row(row, stacks) for row in cells.iter_rows(named=True)],
    }
    return b"window.dragstripMap = " + msgspec.json.encode(told) + b";\n"


def _row(cell: dict[str, Any], stacks: Sequence[str]) -> list[float | None]:
    times = (cell[f"plt_ms_{s}"] for s in stacks)
    return [
        *(_plain(cell[name]) for name in SAMPLED_FACTORS),
        *(None if t is None else _plain(round(t, 1 if t < 1000 else 0)) for t in times),
    ]


def _plain(value: float) -> float:
    """Shorten the value to six digits, to save space."""
    return int(value) if value == int(value) else float(f"{value:.6g}")
