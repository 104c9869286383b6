"""How often the intervals that the program prints hold the truth, on simulated loads.

    uv run python bench/stats/coverage.py [studies]

Writes docs/reference/coverage.json and coverage.svg, and prints the table of coverage.md. Seeded;
4,000 studies per point by default (about three minutes).
"""

import sys
from collections.abc import Callable, Iterator
from itertools import combinations, permutations
from pathlib import Path
from statistics import fmean, stdev

import altair as alt
import msgspec
import numpy as np
from numpy.typing import NDArray

from dragstrip.stats.attribution import Measured, block_values
from dragstrip.stats.control import false_alarms
from dragstrip.stats.groups.components import components
from dragstrip.stats.log_ratio import LogRatio, of_mean
from dragstrip.stats.order_interval import least, order_interval
from dragstrip.stats.sequential import Plan, decide
from dragstrip.stats.spread import quantile_ratio

HERE = Path(__file__).parents[2] / "docs" / "reference"
SIZES = (3, 4, 5, 6, 7, 8, 10, 12, 15, 20, 25, 31)
SEED = 18
Floats = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Floats]
Interval = Callable[[list[float], float], tuple[float, float] | None]


def later(share: float) -> Draw:
    """Normal logs of 3 %; this share of the loads takes half as long again."""
    return lambda r, n: 0.03 * r.normal(size=n) + np.log(1.5) * (r.random(n) < share)


LOADS: dict[str, Draw] = {
    "normal": lambda r, n: 0.05 * r.normal(size=n),
    "log-normal times": lambda r, n: np.log(np.exp(0.5 * r.normal(size=n)) + 1),
    "exponential tail": lambda r, n: np.log(1 + 0.3 * r.exponential(size=n)),
    "t with 3 df": lambda r, n: 0.05 * r.standard_t(3, size=n),
    "1 in 10 later": later(0.1),
    "3 in 10 later": later(0.3),
}
"""Logs of load times."""
FACTOR = "factor"
THREE = (FACTOR, "other", "rest")
"""Differences between two stacks that `why` explains: eight stacks lie between. With one
difference, there are the two alone."""


def main() -> None:
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
    rows = [
        {"interval": name, "level": level, "loads": loads, "n": n, "held": held, "studies": made}
        for name, level, loads, n, held, made in points(studies)
    ]
    (HERE / "coverage.json").write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
    draw(rows)
    table(rows)


def points(studies: int) -> Iterator[tuple[str, float, str, int, float, int]]:
    for number, (loads, logs) in enumerate(LOADS.items()):
        for n in SIZES:
            r = np.random.default_rng([SEED, number, n])
            one = logs(r, (studies, n))
            # One stack alone is skewed; two stacks whose loads are skewed in different ways.
            pairs = one - 0.05 * r.normal(size=(studies, n))
            truth = float(np.median(logs(r, (400_000,))))
            apart = float(np.median(logs(r, (400_000,)) - 0.05 * r.normal(size=400_000)))
            for name, level, values, centre in (
                ("median of one stack", 0.95, one, truth),
                ("ratio over blocks", 0.95, pairs, apart),
                ("ratio over blocks", 0.99, pairs, apart),
                ("ratio, 24 at once", 1 - 0.05 / 24, pairs, apart),
            ):
                if n >= least(level):
                    held = np.mean([_in(order_interval(sorted(v), level), centre) for v in values])
                    yield name, level, loads, n, float(held), studies
            for name, held_by in _shares(logs, r, n, studies):
                yield name, 0.95, loads, n, held_by, studies
        for k in (3, 4, 5, 7, 10, 15):
            r = np.random.default_rng([SEED, number, k, 3])
            yield "over restarts", 0.95, loads, k, _restarts(logs, r, k, studies), studies
        few = max(200, studies // 8)
        for statistic in ("p95", "iqr"):
            for n in (31, 61) if statistic == "p95" else (15, 21, 31):
                r = np.random.default_rng([SEED, number, n, 1])
                held = np.mean([_spread(logs, r, n, statistic) for _ in range(few)])
                yield f"ratio of {statistic}", 0.95, loads, n, float(held), few
        r = np.random.default_rng([SEED, number, 2])
        some = max(200, studies // 4)
        alarms = [
            decide((logs(r, (31,)) - logs(r, (31,))).tolist(), Plan()).verdict in _FOUND
            for _ in range(some)
        ]
        yield "stopping, all looks", 0.95, loads, 31, 1 - float(np.mean(alarms)), some
    r = np.random.default_rng([SEED, 3])
    for n in (5, 12, 31, 100):
        found = [false_alarms((r.random(n) < 0.05).tolist(), 0.05) for _ in range(studies)]
        held = float(np.mean([f.low <= 0.05 <= f.high for f in found]))
        yield "rate of false alarms", 0.95, "A/A", n, held, studies


_FOUND = ("faster", "slower")


def _in(interval: tuple[float, float] | None, truth: float) -> bool:
    return interval is not None and interval[0] <= truth <= interval[1]


def _shares(
    logs: Draw, r: np.random.Generator, n: int, studies: int
) -> Iterator[tuple[str, float]]:
    """Shares of a factor that does nothing, and of one that brings these loads: without it loads
    are normal. The second also by Student's t, which takes no account of skewness, and as the only
    difference."""

    def held(
        players: tuple[str, ...], alike: bool, truth: float, interval: Interval = of_mean
    ) -> float:
        nodes = [frozenset(c) for k in range(len(players) + 1) for c in combinations(players, k)]
        size = studies, n, len(nodes)
        has = np.array([alike or FACTOR in node for node in nodes])
        times = np.where(has, logs(r, size), 0.05 * r.normal(size=size))
        table = Measured(nodes, times.reshape(-1, len(nodes)))
        own = block_values(FACTOR, list(permutations(players)), table)
        rows = np.reshape(own, (studies, n)).tolist()
        return float(np.mean([_in(interval(row, 0.95), np.exp(truth)) for row in rows]))

    centre = float(logs(r, (400_000,)).mean())
    yield "share of why, no effect", held(THREE, True, 0.0)
    yield "share of why", held(THREE, False, centre)
    yield "share of why, Student's t alone", held(THREE, False, centre, _student)
    yield "share of why, one difference", held((FACTOR,), False, centre)


def _student(logs: list[float], level: float) -> tuple[float, float] | None:
    n = len(logs)
    return LogRatio(fmean(logs), stdev(logs) / n**0.5, n - 1, n).interval(level)


BLOCKS_EACH = 6
"""Blocks of a restart."""


def _restarts(logs: Draw, r: np.random.Generator, restarts: int, studies: int) -> float:
    """Restarts differ half as much as blocks do."""
    blocks = logs(r, (studies, restarts, BLOCKS_EACH))
    many = logs(r, (400_000,))
    own = 0.5 * float(many.std()) * r.normal(size=(studies, restarts, 1))
    made = [components(study) for study in (blocks + own).tolist()]
    truth = float(many.mean())
    return float(np.mean([one is not None and one.low <= truth <= one.high for one in made]))


def _spread(logs: Draw, r: np.random.Generator, n: int, statistic: str) -> bool:
    a, b = (np.exp(logs(r, (n,))).tolist() for _ in range(2))
    found = quantile_ratio(a, b, statistic, paired=True)
    return found is None or _in(found.interval(), 1.0)


def draw(rows: list[dict[str, object]]) -> None:
    """Lines within the grey band keep their level to 1.5 points."""
    shown = [r | {"miss": 100 * (r["held"] - r["level"]), "down": -1.5, "up": 1.5} for r in rows]
    alt.data_transformers.disable_max_rows()
    base = alt.Chart(alt.Data(values=shown)).encode(x=alt.X("n:Q", title="blocks or loads"))
    band = base.mark_area(opacity=0.15, color="grey").encode(y="down:Q", y2="up:Q")
    line = base.mark_line(point={"size": 12}, strokeWidth=1).encode(
        y=alt.Y("miss:Q", title="coverage less level, points"),
        color=alt.Color("loads:N", title="loads"),
    )
    named = alt.Facet("title:N", title=None)
    titled = "datum.interval + ', ' + format(datum.level, '.1%')"
    drawn = alt.layer(band, line).properties(width=250, height=150)
    drawn.facet(named, columns=3).transform_calculate(title=titled).save(HERE / "coverage.svg")


def table(rows: list[dict[str, object]]) -> None:
    kinds = [*LOADS, "A/A"]
    print(f"| interval | level | blocks | {' | '.join(kinds)} |")
    print("|---" * (3 + len(kinds)) + "|")
    held: dict[tuple[object, ...], dict[object, object]] = {}
    for row in rows:
        key = row["interval"], row["level"], row["n"]
        held.setdefault(key, {})[row["loads"]] = row["held"]
    for (interval, level, n), own in sorted(
        held.items(), key=lambda x: (str(x[0][0]), x[0][1], x[0][2])
    ):
        cells = [f"{100 * own[kind]:.1f}" if kind in own else "" for kind in kinds]
        print(f"| {interval} | {100 * level:.1f} % | {n} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
