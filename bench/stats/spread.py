"""How often 95 % intervals of spread hold the truth, on simulated loads.

    uv run python bench/stats/spread.py [studies] [--logarithms]

Prints a table: statistic, loads, and the share of intervals that hold 1 where both samples come
from one distribution. With --logarithms: of interquartile ranges of the logarithms, also where both
visits of a block share half of their variance. Seeded; `studies` is 1,000 per cell by default
(about three minutes).
"""

import sys
from collections.abc import Callable

import numpy as np

from dragstrip.stats.spread import LEAST, STATISTICS, quantile_ratio

Draw = Callable[[np.random.Generator, int], np.ndarray]
LOADS: dict[str, Draw] = {
    "normal, CV 5 %": lambda r, n: np.exp(0.05 * r.normal(size=n)),
    "log-normal, 30 %": lambda r, n: np.exp(0.3 * r.normal(size=n)),
    "t with 3 df": lambda r, n: np.exp(0.05 * r.standard_t(3, size=n)),
    "exponential tail": lambda r, n: 1 + 0.3 * r.exponential(size=n),
}


def main() -> None:
    given = [text for text in sys.argv[1:] if text != "--logarithms"]
    studies = int(given[0]) if given else 1000
    if "--logarithms" in sys.argv:
        logarithms(studies)
        return
    print(f"| statistic | loads | {' | '.join(LOADS)} |")
    print(f"|---|---|{'---|' * len(LOADS)}")
    for statistic in STATISTICS:
        for n in sorted({LEAST[statistic], 21, 31, 41, 61, 101}):
            if n < LEAST[statistic]:
                continue
            row = []
            for number, draw in enumerate(LOADS.values()):
                random = np.random.default_rng([number, n])
                held = 0
                for _ in range(studies):
                    a, b = draw(random, n).tolist(), draw(random, n).tolist()
                    found = quantile_ratio(a, b, statistic, paired=True)
                    low, high = (found and found.interval()) or (1.0, 1.0)
                    held += low <= 1 <= high
                row.append(f"{held / studies:.3f}")
            print(f"| {statistic} | {n} | {' | '.join(row)} |", flush=True)


def logarithms(studies: int) -> None:
    print(f"| loads | shared | {' | '.join(LOADS)} |")
    print(f"|---|---|{'---|' * len(LOADS)}")
    for n in (15, 21, 31):
        for shared in (False, True):
            row = [
                f"{_held(draw, n, i, studies, shared):.3f}" for i, draw in enumerate(LOADS.values())
            ]
            print(f"| {n} | {'half' if shared else 'none'} | {' | '.join(row)} |", flush=True)


def _held(draw: Draw, n: int, number: int, studies: int, shared: bool) -> float:
    """Share of intervals that hold 1."""
    random, held = np.random.default_rng([number, n, 7]), 0
    for _ in range(studies):
        a, b = draw(random, n), draw(random, n)
        both = draw(random, n) if shared else 1.0
        logs = np.log(a * both).tolist(), np.log(0.7 * b * both).tolist()
        found = quantile_ratio(*logs, "iqr", paired=True)
        low, high = (found and found.interval()) or (1.0, 1.0)
        held += low <= 1 <= high
    return held / studies


if __name__ == "__main__":
    main()
