"""Turns measured times into a table, a record and a picture."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import altair as alt
import msgspec
from msgspec import Struct

from dragstrip.stats.block_ratio import matched
from dragstrip.stats.block_ratio import ratio as block_ratio

NETWORKS = {
    "10 ms, no rate limit": "unlimited/unlimited/5ms/0%/unbounded",
    "25/5 Mbit/s, 24 ms": "25mbit/5mbit/12ms/0%/200ms",
}
OBJECTS = "request to last byte"
PAGE = "page load time"
REFERENCE = {
    "QUIC": "TCP+",
    "QUIC+BBR": "TCP+BBR",
    "caddy-h2": "TCP+",
    "caddy-h3": "caddy-h2",
}
"""What a stack's times are divided by."""


class Row(Struct, frozen=True, kw_only=True):
    """One visit. `ms` is None if it did not end."""

    what: str
    network: str
    load: str
    stack: str
    block: str
    verdict: str
    ms: float | None


class Cell(Struct, frozen=True, kw_only=True):
    """Valid visits of one stack; `ratio` with its 95 % interval is that of medians, in blocks where
    both stacks' visits are valid."""

    what: str
    network: str
    load: str
    stack: str
    n: int
    invalid: int
    median_ms: float | None
    cv: float | None
    reference: str = ""
    ratio: float | None = None
    low: float | None = None
    high: float | None = None
    pairs: int = 0


def cells(rows: Sequence[Row]) -> Iterator[Cell]:
    for key in dict.fromkeys(
        (r.what, r.network, r.load, r.stack) for r in sorted(rows, key=_place)
    ):
        what, network, load, stack = key
        mine = _times(rows, *key)
        visits = [r for r in rows if (r.what, r.network, r.load, r.stack) == key]
        values = list(mine.values())
        other = _times(rows, what, network, load, REFERENCE.get(stack, ""))
        pairs = matched(other, mine)
        ratio = block_ratio(*pairs) if pairs[0] else None
        yield Cell(
            what=what,
            network=network,
            load=load,
            stack=stack,
            n=len(values),
            invalid=len(visits) - len(values),
            median_ms=statistics.median(values) if values else None,
            cv=statistics.stdev(values) / statistics.mean(values) if len(values) > 1 else None,
            reference=REFERENCE.get(stack, "") if ratio else "",
            ratio=ratio.value if ratio else None,
            low=ratio.low if ratio else None,
            high=ratio.high if ratio else None,
            pairs=len(pairs[0]),
        )


def record(about: Mapping[str, str], rows: Sequence[Row]) -> bytes:
    whole = {"about": about, "cells": list(cells(rows)), "visits": rows}
    return msgspec.json.format(msgspec.json.encode(whole), indent=1) + b"\n"


def table(about: Mapping[str, str], rows: Sequence[Row]) -> str:
    """Markdown."""
    lines = ["# Parity of the servers", ""]
    lines += [
        f"`{about['command']}`: {about['browser']}, Linux {about['kernel']}, {about['minutes']} "
        "minutes. Medians of valid visits; ratios of medians with 95 % intervals over blocks. The",
        "`caddy-*` stacks have windows of 10 (h2) and 32 packets (h3): their ratio is not only "
        "the server's. Without a rate limit the CPU decides from 1 MB on: 10 MB keep both cores "
        "busy, and many such visits are `overloaded`. Why ratios differ from one: "
        "[traces](parity-traces.md).",
    ]
    shown = None
    for cell in cells(rows):
        if shown != (cell.what, cell.network):
            shown = cell.what, cell.network
            lines += ["", f"## {cell.what}, {cell.network}", ""]
            lines += [
                "| load | stack | ms | CV | n (invalid) | divided by | ratio |",
                "|---" * 7 + "|",
            ]
        lines.append(
            f"| {cell.load} | {cell.stack} | {_number(cell.median_ms, '.1f')} "
            f"| {_number(cell.cv, '.1%')} | {cell.n} ({cell.invalid}) | {cell.reference} "
            f"| {_interval(cell)} |"
        )
    return "\n".join([*lines, "", "![Box plots](parity.svg)", ""])


def draw(rows: Sequence[Row], path: Path) -> None:
    """Tukey's boxes of valid visits: a row of panels per network."""
    ordered = sorted(rows, key=_place)
    valid = [msgspec.to_builtins(r) for r in ordered if r.verdict == "valid" and r.ms is not None]
    panels = []
    for what, network in dict.fromkeys((r["what"], r["network"]) for r in valid):
        mine = [r for r in valid if (r["what"], r["network"]) == (what, network)]
        loads = dict.fromkeys(r["load"] for r in sorted(mine, key=lambda r: r["ms"]))
        boxes = [
            alt.Chart(alt.Data(values=[r for r in mine if r["load"] == load]), title=load)
            .mark_boxplot()
            .encode(
                x=alt.X("stack:N", title=None, sort=list(_ORDER)),
                y=alt.Y("ms:Q", title=f"{what}, ms", scale=alt.Scale(zero=False)),
                color=alt.Color("stack:N", legend=None),
            )
            .properties(width=150, height=180)
            for load in sorted(loads, key=_bytes)
        ]
        panels.append(alt.hconcat(*boxes, title=network))
    if panels:
        alt.vconcat(*panels).save(path)


def _times(rows: Sequence[Row], *key: str) -> dict[str, float]:
    return {
        r.block: r.ms
        for r in rows
        if (r.what, r.network, r.load, r.stack) == key and r.verdict == "valid" and r.ms is not None
    }


_UNITS = {"KB": 1e3, "MB": 1e6}


def _bytes(load: str) -> float:
    unit = _UNITS.get(load[-2:], 0.0)
    return float(load[:-2]) * unit if unit and load[:-2].isdigit() else 0.0


_ORDER = ("TCP+", "QUIC", "TCP+BBR", "QUIC+BBR", "caddy-h2", "caddy-h3")


def _place(row: Row) -> tuple[bool, str, float, int]:
    return row.what == PAGE, row.network, _bytes(row.load), _ORDER.index(row.stack)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _interval(cell: Cell) -> str:
    if cell.ratio is None:
        return ""
    if cell.low is None and cell.high is None:
        return f"{cell.ratio:.3f}"
    low, high = (_number(v, ".3f") for v in (cell.low, cell.high))
    return f"{cell.ratio:.3f} ({low} to {high})"
