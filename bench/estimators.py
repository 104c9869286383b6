"""What 31 runs can say, on the variances of a published campaign.

uv run python bench/estimators.py VARIANCES.csv [studies per cell]

The file has the columns strategy, bw_mbps, rtt_ms, loss and cv, a row for each page and network, as
in the summary of the VGPrio campaign (38 pages x 6 networks). Runs are drawn lognormal with each
cell's coefficient of variation; a block's two runs share nothing, so pairing gains nothing here.
"""

import csv
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from dragstrip.stats.anova_counts import anova_counts
from dragstrip.stats.equivalence import tost
from dragstrip.stats.hodges_lehmann import paired_shift
from dragstrip.stats.median_ratio import paired_median_ratio
from dragstrip.stats.paired import Ratio, paired, ratio
from dragstrip.stats.power import detectable
from dragstrip.stats.sequential import Plan, decide

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
    print(f"{RUNS} runs, {repeats} studies of each page; alarms and power at p < 0.01")
    print(
        "Mbit/s  RTT  loss  CV    | alarms: ANOVA  log-ratio | coverage of 95 %: log-ratio  "
        "Hodges-L.  medians | found: 5 %  10 % | equivalent within 5 %"
    )
    draw = np.random.default_rng(1)
    for (rate, rtt, loss), spreads in networks.items():
        print(f"{rate:>6} {rtt:>4} {float(loss):>5} {_row(draw, spreads * repeats)}")
    print(
        "\nGroup-sequential, O'Brien-Fleming, alpha 0.01, CV 5 %, "
        f"looks at {', '.join(map(str, Plan().looks))} blocks"
    )
    for effect in (0.0, 0.04, 0.06, 0.09, 0.14, 0.36):
        print(f"  effect {effect:4.0%}: {_blocks(effect):.1f} blocks on average, {RUNS} without it")
    print("\nDetectable with power 0.8 at alpha 0.01, in coefficients of variation")
    for n in (5, 10, 31, 100):
        print(f"  {n:>3} runs: {detectable(n, alpha=0.01, power=0.8, paired=False):.2f}")


def _row(draw: np.random.Generator, spreads: list[float]) -> str:
    same = list(_studies(draw, spreads, 1.0))
    counts = anova_counts({str(i): study for i, study in enumerate(same)}).printed
    anova = (counts.faster + counts.slower) / len(same)
    alarms = _share(same, lambda s: paired(*s).p() < 0.01)
    estimators: tuple[Callable[[list[float], list[float]], Ratio], ...] = (
        ratio,
        paired_shift,
        lambda a, b: paired_median_ratio(a, b, draws=400),
    )
    covered = [_share(same, lambda s, e=e: _covers(e(*s))) for e in estimators]
    power = [
        _share(_studies(draw, spreads, 1 - effect), lambda s: paired(*s).p() < 0.01)
        for effect in (0.05, 0.1)
    ]
    equivalent = _share(same, lambda s: tost(paired(*s), 0.05) < 0.05)
    return (
        f"{np.median(spreads):6.1%}| {anova:13.1%} {alarms:10.1%} | {covered[0]:27.1%} "
        f"{covered[1]:10.1%} {covered[2]:8.1%} | {power[0]:10.0%} {power[1]:5.0%} | "
        f"{equivalent:.0%}"
    )


def _studies(draw: np.random.Generator, spreads: list[float], factor: float) -> Iterator[Study]:
    for spread in spreads:
        sigma = np.sqrt(np.log(1 + spread**2))
        a, b = draw.lognormal(0, sigma, (2, RUNS))
        yield a.tolist(), (factor * b).tolist()


def _share(studies: Iterator[Study] | list[Study], holds: Callable[[Study], bool]) -> float:
    return float(np.mean([holds(study) for study in studies]))


def _covers(found: Ratio) -> bool:
    return found.low is not None and found.high is not None and found.low <= 1 <= found.high


def _blocks(effect: float) -> float:
    draw = np.random.default_rng(2)
    plan = Plan(alpha=0.01)
    found = (
        decide(np.log((1 + effect) * b / a).tolist(), plan).n
        for a, b in draw.lognormal(0, 0.05, (1000, 2, RUNS))
    )
    return float(np.mean(list(found)))


if __name__ == "__main__":
    main()
