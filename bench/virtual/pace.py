"""What do visits in virtual time cost a machine? A fit of docs/results/plan.md's prices.

    uv run python bench/virtual/pace.py
    uv run python bench/virtual/pace.py --client loader

Races of synthetic pages, first and repeat visits, one guest at a time. CPU seconds are of whole
commands: start, guests, verdict, tables and report. They are fitted by least squares of relative
errors, no price below zero. What a command costs whatever it visits is fitted too and left out of
the prices, for a campaign pays it once. They stand in dragstrip_papers/campaign/pace.toml.
"""

import argparse
import os
import sys
import tempfile

import numpy as np
import polars as pl
from msgspec import Struct, structs
from scipy.optimize import nnls
from spent import spent_by

from dragstrip.model.browsers import LOADER
from dragstrip_papers.campaign.pace import Pace, pace

DRAGSTRIP = [sys.executable, "-c", "from dragstrip.cli import main; main()"]
STACKS = ("h2", "h3")
PRICES = ("visit_cpu_s", "object_cpu_s", "mb_cpu_s", "slow_mb_cpu_s")


class Cell(Struct, frozen=True):
    """A page of `objects` of `size` bytes each; first visits, or these and repeat visits."""

    blocks: int
    objects: int
    size: int
    rate_mbps: int
    delay_ms: int
    loss: float
    """Loss in percent."""
    repeat: bool = False

    @property
    def page(self) -> str:
        return f"synth:{self.objects}x{self.size}B"

    @property
    def network(self) -> str:
        return f"{self.rate_mbps}mbit/{self.rate_mbps}mbit/{self.delay_ms}ms/{self.loss}%/200ms"

    @property
    def connections(self) -> list[str]:
        return ["first", "repeat"] if self.repeat else ["first"]


CELLS = (
    Cell(1, 4, 1000, 10, 18, 0),
    Cell(24, 4, 1000, 10, 18, 0),
    Cell(12, 4, 1000, 10, 218, 2, repeat=True),
    Cell(24, 64, 1000, 10, 18, 0),
    Cell(12, 64, 1000, 2, 218, 2, repeat=True),
    Cell(12, 8, 200_000, 10, 18, 0),
    Cell(6, 8, 200_000, 2, 218, 2, repeat=True),
    Cell(4, 64, 100_000, 50, 18, 0, repeat=True),
    Cell(4, 64, 100_000, 2, 18, 0),
    Cell(4, 64, 100_000, 2, 218, 2),
    Cell(4, 64, 100_000, 10, 218, 2),
    Cell(4, 32, 100_000, 1, 100, 0),
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", default="", help="who loads the pages, by default a browser")
    client = parser.parse_args().client
    now = pace()
    alone = [structs.replace(now, **{p: float(p == price) for p in PRICES}) for price in PRICES]
    moved = np.array([[1, *(cost(cell, price) for price in alone)] for cell in CELLS])
    spent = np.array([cpu_s(cell, client) for cell in CELLS])
    fitted, _ = nnls(moved / spent[:, None], np.ones(len(CELLS)))
    print("| page | network | blocks | visits | CPU seconds | fitted | visits by pace.toml |")
    print("|---|---|---|---|---|---|---|")
    for cell, one, fit in zip(CELLS, spent, moved @ fitted, strict=True):
        said = cost(cell, now, loader=client == LOADER)
        print(
            f"| {cell.page} | {cell.network} | {cell.blocks} | {' and '.join(cell.connections)} | "
            f"{one:.1f} | {fit:.1f} | {said:.1f} |"
        )
    for name, price in zip(("a command", *PRICES), fitted, strict=True):
        print(f"{name} = {price:.3g}")
    print(f"{len(os.sched_getaffinity(0))} cores; {' and '.join(STACKS)}")


def cost(cell: Cell, prices: Pace, *, loader: bool = False) -> float:
    """CPU seconds of all visits to the cell."""
    size = cell.objects * cell.size
    visits = pl.DataFrame({"connection": cell.connections}).with_columns(
        objects=pl.lit(cell.objects), page_bytes=pl.lit(size), rate_mbps=pl.lit(cell.rate_mbps)
    )
    one_of_each = visits.select(prices.visit_s(loader=loader).sum()).item()
    return cell.blocks * len(STACKS) * one_of_each


def cpu_s(cell: Cell, client: str) -> float:
    """CPU seconds of one race of the cell."""
    with tempfile.TemporaryDirectory() as kept:
        argv = [*DRAGSTRIP, "race", cell.page, "--network", cell.network]
        argv += ["--runs", str(cell.blocks)]
        argv += [word for stack in STACKS for word in ("--stack", stack)]
        argv += ["--out", f"{kept}/c", "--no-calibrate", *(["--repeat"] if cell.repeat else [])]
        argv += ["--virtual", "--jobs", "1", *(["--client", client] if client else [])]
        return spent_by(argv).cpu_s


if __name__ == "__main__":
    main()
