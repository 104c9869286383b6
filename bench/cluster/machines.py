"""What 200 machines of different speed do to an estimate: with blocks, and without.

    uv run python bench/cluster/machines.py [studies]

Machines differ in speed by up to 20 % and join in the order of a cluster that hands out its old
nodes first, so later ones tend to be faster. Some are broken: one stack is slower there. A study of
two stacks is made twice: block by block, both visits on one machine; and stack after stack, each
visit on whichever machine is free. Writes docs/reference/machines.json and machines.svg, and prints
the table of machines.md. Seeded; 100 studies of 80 cells by
default (about two minutes).
"""

import sys
from pathlib import Path
from typing import Any

import altair as alt
import msgspec
import numpy as np
from numpy.typing import NDArray

from dragstrip.stats.block_ratio import ratio
from dragstrip.stats.groups.odd_ones import odd_ones

HERE = Path(__file__).parents[2] / "docs" / "reference"
MACHINES, CELLS, RUNS = 200, 80, 31
BLOCKS = CELLS * RUNS
TRUE = 0.90
"""h3 / h2 on every machine that is not broken."""
SPREAD = 0.20
BROKEN, BROKEN_BY = 5, 1.30
"""Machines on which h3 takes this many times as long: UDP that is handled packet by packet."""
LOAD_MS, NOISE = 1000.0, 0.06
DESIGNS = "in blocks", "stack after stack"
SHOWN = 60
SEED = 22
Floats = NDArray[np.float64]


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    draw = np.random.default_rng(SEED)
    rows = [row for number in range(studies) for row in study(number, draw)]
    named, false = zip(*(broken_named(draw) for _ in range(studies)), strict=True)
    found: dict[str, Any] = {
        "studies": studies,
        "machines": MACHINES,
        "cells": CELLS,
        "runs": RUNS,
        "true": TRUE,
        "designs": {design: summary(rows, design) for design in DESIGNS},
        "broken": {
            "of": BROKEN,
            "studies": len(named),
            "named": float(np.mean(named)),
            "falsely named": float(np.mean(false)),
        },
    }
    (HERE / "machines.json").write_bytes(msgspec.json.format(msgspec.json.encode(found)) + b"\n")
    figure(rows)
    for design, told in found["designs"].items():
        print(
            f"| {design} | {told['bias'] * 100:+.1f} % | {told['held'] * 100:.1f} % "
            f"| {told['width'] * 100:.1f} % |"
        )
    print(found["broken"])


def speeds(draw: np.random.Generator) -> Floats:
    """Times of a load on each machine, relative; machines in the order in which they join."""
    age = np.linspace(1, -1, MACHINES)
    return 1 + SPREAD * np.clip(0.6 * age + 0.4 * draw.uniform(-1, 1, MACHINES), -1, 1)


def study(number: int, draw: np.random.Generator) -> list[dict[str, Any]]:
    """A study of one cluster used in both ways. All machines are there after half of the visits."""
    slow = speeds(draw)
    bad = draw.choice(MACHINES, BROKEN, replace=False)
    h3_on = np.full(MACHINES, TRUE)
    h3_on[bad] *= BROKEN_BY

    def noise() -> Floats:
        return LOAD_MS * np.exp(NOISE * draw.normal(size=(RUNS, CELLS)))

    def machine(n: int) -> NDArray[np.int64]:
        """Machines in the order in which they make visits or blocks."""
        there = np.clip(np.linspace(0.1, 2, n), 0, 1) * MACHINES
        return (draw.random(n) * there).astype(int)

    on = machine(RUNS * CELLS).reshape(RUNS, CELLS)  # round after round over all cells
    in_blocks = noise() * slow[on], noise() * slow[on] * h3_on[on]
    on, then = machine(2 * RUNS * CELLS).reshape(2, RUNS, CELLS)
    apart = noise() * slow[on], noise() * slow[then] * h3_on[then]
    rows = []
    for design, (h2, h3) in zip(DESIGNS, (in_blocks, apart), strict=True):
        for cell in range(CELLS):
            found = ratio(h2[:, cell], h3[:, cell])
            rows.append(
                {
                    "study": number,
                    "cell": cell,
                    "design": design,
                    "ratio": found.value,
                    "low": found.low,
                    "high": found.high,
                }
            )
    return rows


def broken_named(draw: np.random.Generator) -> tuple[float, int]:
    """The share of broken machines that are named, and how many others are."""
    slow, on = speeds(draw), draw.integers(MACHINES, size=BLOCKS)
    bad = set(draw.choice(MACHINES, BROKEN, replace=False).tolist())
    h3_on = np.array([TRUE * (BROKEN_BY if m in bad else 1.0) for m in range(MACHINES)])
    times = [LOAD_MS * np.exp(NOISE * draw.normal(size=BLOCKS)) * slow[on] for _ in range(2)]
    logs = np.log(times[1] * h3_on[on] / times[0])
    groups = {str(m): logs[on == m].tolist() for m in range(MACHINES)}
    named = {int(one.group) for one in odd_ones(groups) if one.p < 0.05}
    return len(named & bad) / BROKEN, len(named - bad)


def summary(rows: list[dict[str, Any]], design: str) -> dict[str, float]:
    mine = [row for row in rows if row["design"] == design]
    return {
        "bias": float(np.mean([row["ratio"] for row in mine])) / TRUE - 1,
        "held": float(np.mean([row["low"] <= TRUE <= row["high"] for row in mine])),
        "width": float(np.mean([row["high"] / row["low"] - 1 for row in mine])),
    }


def figure(rows: list[dict[str, Any]]) -> None:
    shown = [row for row in rows if row["study"] == 0 and row["cell"] < SHOWN]
    scale = alt.Scale(
        domain=[min(row["low"] for row in shown), max(row["high"] for row in shown)], nice=True
    )
    picture = alt.hconcat(
        *(panel([r for r in shown if r["design"] == d], d, scale) for d in DESIGNS)
    ).configure_view(stroke=None)
    picture.save(HERE / "machines.svg")


def panel(rows: list[dict[str, Any]], design: str, scale: alt.Scale) -> alt.LayerChart:
    """Intervals of one design's cells, by their estimate; those without the truth are red."""
    ordered = sorted(rows, key=lambda row: row["ratio"])
    data = alt.Data(values=[row | {"place": n} for n, row in enumerate(ordered)])
    holds = f"datum.low <= {TRUE} && {TRUE} <= datum.high"
    colour = alt.condition(holds, alt.value("#2f4b9e"), alt.value("#b3261e"))
    base = alt.Chart(data).encode(x=alt.X("place:Q", axis=None), color=colour)
    ratio_axis = alt.Axis(format=".2f", title="h3 / h2, with 95 % interval")
    truth = alt.Chart(alt.Data(values=[{"true": TRUE}])).mark_rule(strokeDash=[5, 3])
    missed = sum(not row["low"] <= TRUE <= row["high"] for row in rows)
    told = f"{design}: {missed} of {len(rows)} intervals miss {TRUE:.2f}"
    return alt.layer(
        base.mark_rule(strokeWidth=1.5).encode(
            y=alt.Y("low:Q", scale=scale, axis=ratio_axis), y2="high:Q"
        ),
        base.mark_circle(size=16, opacity=1).encode(y="ratio:Q"),
        truth.encode(y=alt.Y("true:Q", scale=scale)),
        title=told,
    ).properties(width=330, height=240)


if __name__ == "__main__":
    main()
