"""What 31 runs can say, on the variances of a published campaign.

uv run python bench/stats/estimators.py VARIANCES.csv [studies per cell]

The file has the columns strategy, bw_mbps, rtt_ms, loss and cv, a row for each page and network, as
in the summary of the VGPrio campaign (38 pages x 6 networks). Runs are drawn lognormal with each
cell's coefficient of variation; a block's two runs share nothing, so pairing gains nothing here.
Other shapes of loads: bench/stats/coverage.py.
"""

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from dragstrip.stats.block_ratio import BlockRatio, block_ratio
from dragstrip.stats.power import detectable
from dragstrip.stats.sequential import Plan, decide
from dragstrip_papers.stats.anova_counts import anova_counts

RUNS = 31
Study = tuple[list[float], list[float]]


def main() -> None:
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    networks: dict[tuple[str, ...], list[float]] = {}
    with Path(sys.argv[1]).open() as rows:
        for row in csv.DictReader(rows):
            if row["strategy"] == "chrome":
                network = (row["bw_mbps"], row["rtt_ms"], row["loss"])
                networks.setdefault(network, []).append(float(row["cv"]))
    print(f"{RUNS} runs, {repeats} studies of each page; alarms and power at 1 %")
    print("| Mbit/s | RTT | loss | median CV | alarms: ANOVA, ratio | coverage of 95 % ", end="")
    print("| finds 5 %, 10 % | shown equal within 5 % |\n" + "|---" * 8 + "|")
    draw = np.random.default_rng(1)
    for (rate, rtt, loss), spreads in networks.items():
        print(f"| {rate} | {rtt} ms | {float(loss):.0%} | {_row(draw, spreads * repeats)} |")
    plan = Plan(alpha=0.01)
    print(f"\nGroup-sequential, alpha 0.01, CV 5 %, looks at {plan.looks} blocks")
    for effect in (0.0, 0.04, 0.06, 0.09, 0.14, 0.36):
        print(f"  effect {effect:4.0%}: {_blocks(effect, plan):.1f} blocks on average")
    print("\nLeast difference found with 80 % at 5 %, in standard deviations of a block's ratio")
    for n in (5, 10, 31, 100):
        print(f"  {n:>3} blocks: {detectable(n, alpha=0.05, power=0.8):.2f}")


def _row(draw: np.random.Generator, spreads: list[float]) -> str:
    same = list(_studies(draw, spreads, 1.0))
    counts = anova_counts({str(i): study for i, study in enumerate(same)}).printed
    anova = (counts.faster + counts.slower) / len(same)
    found = [block_ratio(*study) for study in same]
    alarms = _share(found, lambda f: not _covers(f, 0.99))
    covered = _share(found, lambda f: _covers(f, 0.95))
    power = [
        _share([block_ratio(*s) for s in _studies(draw, spreads, 1 - effect)], _faster)
        for effect in (0.05, 0.1)
    ]
    equivalent = _share(found, lambda f: f.p_apart(0.05) < 0.05)
    return (
        f"{np.median(spreads):.1%} | {anova:.1%}, {alarms:.1%} | {covered:.1%} "
        f"| {power[0]:.0%}, {power[1]:.0%} | {equivalent:.0%}"
    )


def _studies(draw: np.random.Generator, spreads: list[float], factor: float) -> Iterator[Study]:
    for spread in spreads:
        sigma = np.sqrt(np.log(1 + spread**2))
        a, b = draw.lognormal(0, sigma, (2, RUNS))
        yield a.tolist(), (factor * b).tolist()


def _share(found: list[BlockRatio], holds: Callable[[BlockRatio], bool]) -> float:
    return float(np.mean([holds(one) for one in found]))


def _covers(found: BlockRatio, level: float) -> bool:
    low, high = found.interval(level) or (0.0, np.inf)
    return bool(low <= 1 <= high)


def _faster(found: BlockRatio) -> bool:
    interval = found.interval(0.99)
    return interval is not None and interval[1] < 1


def _blocks(effect: float, plan: Plan) -> float:
    draw = np.random.default_rng(2)
    found = (
        decide(np.log((1 + effect) * b / a).tolist(), plan).n
        for a, b in draw.lognormal(0, 0.05, (1000, 2, RUNS))
    )
    return float(np.mean(list(found)))


if __name__ == "__main__":
    main()
