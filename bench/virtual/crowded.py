"""Does virtual time name real time's winner, by how many packets the queue up dropped there?

    uv run python bench/virtual/crowded.py REAL VIRTUAL [--network NAME]

REAL and VIRTUAL are capsules of the same study. A pair of stacks on a page counts where both clocks
have valid visits of both, and real time has them 5 % apart or more. Loads that did not end are
slower than all that did.
"""

import argparse
import math
from itertools import combinations, pairwise
from pathlib import Path

import polars as pl

from dragstrip.results.capsule import Capsule
from dragstrip.results.tables.build import refresh, scan
from dragstrip.study.controls import HELD, SAME

EDGES = (0, 1, 10, 20, 30, 50, math.inf)
"""Classes of dropped packets: the median visit's, of the stack that lost more in virtual time."""
APART = math.log(1.05)


def medians(folder: Path, network: str) -> dict[str, dict[str, tuple[float, float]]]:
    """By page and stack: page load time in ms, and packets dropped by the queue up."""
    capsule = Capsule.open(folder)
    refresh(capsule)
    ended = pl.when(pl.col("outcome") == "loaded").then("plt_ms").otherwise(math.inf)
    table = (
        scan(capsule, "visits")
        .filter("valid", pl.col("network") == network)
        .filter(~pl.col("stack").is_in([SAME, HELD]))
        .group_by("page", "stack")
        .agg(ended.median().alias("plt"), pl.col("link_up_dropped_queue").median().alias("dropped"))
    )
    found: dict[str, dict[str, tuple[float, float]]] = {}
    for page, stack, plt, dropped in table.collect().iter_rows():
        found.setdefault(page, {})[stack] = plt, dropped
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("real", type=Path)
    parser.add_argument("virtual", type=Path)
    parser.add_argument("--network", default="DSL")
    asked = parser.parse_args()
    real, virtual = medians(asked.real, asked.network), medians(asked.virtual, asked.network)
    pairs = []
    for page in real.keys() & virtual.keys():
        mine, theirs = virtual[page], real[page]
        for a, b in combinations(sorted(mine.keys() & theirs.keys()), 2):
            dropped = max(mine[a][1], mine[b][1])
            ratios = mine[a][0] / mine[b][0], theirs[a][0] / theirs[b][0]
            if abs(math.log(ratios[1])) >= APART:
                pairs.append((dropped, *ratios))
    print("| dropped in the median visit | pairs | same winner | ratios apart, median |")
    print("|---|---|---|---|")
    for low, high in pairwise(EDGES):
        own = [(v, r) for dropped, v, r in pairs if low <= dropped < high]
        if own:
            same = sum((v < 1) == (r < 1) for v, r in own)
            apart = sorted(abs(math.log(v / r)) if 0 < v < math.inf else math.inf for v, r in own)
            name = f"{low:g}" if high - low == 1 else f"{low:g} or more"
            name = name if math.isinf(high) or high - low == 1 else f"{low:g} to {high - 1:g}"
            print(f"| {name} | {len(own)} | {same} | {math.expm1(apart[len(apart) // 2]):.0%} |")


if __name__ == "__main__":
    main()
