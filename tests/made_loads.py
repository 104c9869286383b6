"""Chosen loads, as the papers' predicates read them."""

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl

from dragstrip_papers.campaign.space import CELL
from dragstrip_papers.evidence import METRICS, SCHEMA
from dragstrip_papers.measured import Evidence

PAGES = ("p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8")
NETWORK = {"rate_mbps": 10.0, "rtt_ms": 100.0, "loss": 0.0}
PAGE = {"objects": 10.0, "object_bytes": 1e4, "page_bytes": 1e5, "hosts": 1.0}


def cell(
    times: dict[str, float],
    *,
    page: str = "p1",
    network: str = "n",
    connection: str = "first",
    blocks: int = 12,
    spread: float = 0.01,
    metrics: Sequence[str] = METRICS,
    standin: bool = False,
    **factors: float,
) -> pl.DataFrame:
    """A cell with these times of each stack, give or take `spread`, in all `metrics`."""
    draw = np.random.default_rng([sum(page.encode()), sum(network.encode())])
    rows = [
        NETWORK
        | PAGE
        | factors
        | {"block": f"{page}|{network}|{connection}|{i:03}", "page": page, "network": network}
        | {"connection": connection, "stack": stack, "censored": False, "standin": standin}
        | dict.fromkeys(metrics, time * (1 + spread * draw.standard_normal()))
        for i in range(blocks)
        for stack, time in times.items()
    ]
    return pl.DataFrame(rows, schema=SCHEMA)


def evidence(*cells: pl.DataFrame) -> Evidence:
    return Evidence(pl.concat(cells))


def pages(times: Callable[[int], dict[str, float]], **more: object) -> Evidence:
    """One cell for each of eight pages."""
    return evidence(*(cell(times(i), page=page, **more) for i, page in enumerate(PAGES)))


_FACTORS = [c for c in SCHEMA if c not in ("block", "stack", "censored", *CELL, *METRICS)]


def as_if_run(cells: pl.DataFrame) -> pl.DataFrame:
    """Five blocks of every cell of a space: a stack takes a second, give or take 5 %, and QUIC 10 %
    less."""
    draw = np.random.default_rng(1)
    rows = []
    for cell in cells.iter_rows(named=True):
        same = {name: cell[name] for name in (*CELL, *_FACTORS)} | {"censored": False}
        for stack in cell["stacks"]:
            base = 900 if stack.startswith("QUIC") else 1000
            rows += [
                same
                | {"block": f"{cell['page']}|{cell['network']}|{i}", "stack": stack}
                | dict.fromkeys(METRICS, base * (1 + 0.05 * draw.standard_normal()))
                for i in range(5)
            ]
    return pl.DataFrame(rows, schema=SCHEMA)
