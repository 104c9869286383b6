"""The tables of docs/results/map.md: who wins, and what decides."""

from itertools import pairwise

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dragstrip_papers.map.sampled import ratios
from dragstrip_papers.map.survey import PAIRS, QUEUE_PACKETS, SHORT_QUEUE
from dragstrip_papers.stats.nearest import ANSWERS, outcomes

_SLOW_MBPS = 3
_SMALL_BYTES = 2000
_PROPERTIES = {
    "transfer, in round trips": (
        pl.col("page_bytes") * 8 / (pl.col("down_mbps") * 1000) / pl.col("rtt_ms"),
        (0, 1, 5, 20, np.inf),
    ),
    "loss, %": (pl.col("loss") * 100, (0, 1e-9, 0.1, 0.3, 1, np.inf)),
    "queue, in packets": (QUEUE_PACKETS, (0, SHORT_QUEUE, 10, 32, 100, np.inf)),
}


def winners(cells: pl.DataFrame) -> str:
    head = "| | cells | h3 wins | neither | h2 wins | median of h3 / h2 | middle half |"
    lines = []
    for words, mine in (
        ("", cells),
        (
            f", queue of {SHORT_QUEUE} packets or more",
            cells.filter(QUEUE_PACKETS >= SHORT_QUEUE),
        ),
    ):
        for name, (a, b) in PAIRS.items():
            found = ratios(mine, a, b)
            low, middle, high = np.quantile(found[~np.isnan(found)], (0.25, 0.5, 0.75))
            shares = (f"{share:.0%}" for share in _shares(found))
            lines.append(
                f"| {name}: {b} against {a}{words} | {len(mine)} | {' | '.join(shares)} | "
                f"{middle:.3f} | {low:.3f} to {high:.3f} |"
            )
    return "\n".join([head, "|---" * 7 + "|", *lines])


def corner(cells: pl.DataFrame) -> str:
    size, rate = pl.col("page_bytes") / pl.col("objects"), pl.col("down_mbps")
    lines = [
        "| rate down | objects of | cells | stock h3 / h2, median | tuned |",
        "|---|---|---|---|---|",
    ]
    for rate_said, slow in ((f"below {_SLOW_MBPS} Mbit/s", True), ("above", False)):
        for size_said, small in ((f"below {_SMALL_BYTES / 1000:g} kB", True), ("above", False)):
            there = ((rate < _SLOW_MBPS) == slow) & ((size < _SMALL_BYTES) == small)
            mine = cells.filter(there)
            middles = (_middle(ratios(mine, *pair)) for pair in PAIRS.values())
            lines.append(f"| {rate_said} | {size_said} | {len(mine)} | {' | '.join(middles)} |")
    return "\n".join(lines)


def _middle(found: NDArray[np.float64]) -> str:
    known = found[~np.isnan(found)]
    return f"{np.median(known):.3f}" if len(known) else "-"


def deciding(cells: pl.DataFrame) -> str:
    """Who wins in cells alike in one property."""
    columns = (f"{name}: h3 wins | h2 wins | h3 / h2" for name in PAIRS)
    lines = [f"| | cells | {' | '.join(columns)} |", "|---|---" + "|---|---|---" * 2 + "|"]
    for name, (value, edges) in _PROPERTIES.items():
        for low, high in pairwise(edges):
            mine = cells.filter((value >= low) & (value < high))
            standing = (_standing(ratios(mine, *pair)) for pair in PAIRS.values())
            lines.append(f"| {name}: {_range(low, high)} | {len(mine)} | {' | '.join(standing)} |")
    return "\n".join(lines)


def _range(low: float, high: float) -> str:
    if high < 1e-6:
        return "none"
    if low < 1e-6:
        return f"below {high:g}"
    return f"{low:g} or more" if np.isinf(high) else f"{low:g} to {high:g}"


def _standing(found: NDArray[np.float64]) -> str:
    h3, _, h2 = _shares(found)
    return f"{h3:.0%} | {h2:.0%} | {_middle(found)}"


def _shares(found: NDArray[np.float64]) -> list[float]:
    """Shares of cells that h3 wins, neither, h2."""
    said = outcomes(found)
    return [float((said == i).mean()) for i in range(len(ANSWERS))]
