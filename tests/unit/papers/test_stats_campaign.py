"""31 runs on the variances of a published campaign: false alarms, coverage, power.

`bench/stats/estimators.py` prints the whole table; this is a small, seeded part of it.
"""

from pathlib import Path

import numpy as np
import pytest

from dragstrip.stats.block_ratio import block_ratio
from dragstrip_papers.stats.anova_counts import anova_counts

FILE = Path(__file__).parents[2] / "data" / "variation.txt"
RUNS = 31


@pytest.fixture(scope="module")
def spreads() -> list[float]:
    """Coefficients of variation of the 228 cells of stock Chromium."""
    return [float(line) for line in FILE.read_text().split()]


def runs(draw: np.random.Generator, cv: float, mean: float = 1000) -> list[float]:
    sigma = np.sqrt(np.log(1 + cv**2))
    return (mean * draw.lognormal(-(sigma**2) / 2, sigma, RUNS)).tolist()


def test_false_alarms_and_coverage_without_a_difference(spreads):
    draw = np.random.default_rng(31)
    studies = [(runs(draw, cv), runs(draw, cv)) for cv in spreads * 5]
    found = [block_ratio(a, b).interval() for a, b in studies]
    assert 0.935 <= sum(low <= 1 <= high for low, high in found) / len(studies) <= 0.965
    counts = anova_counts({str(i): study for i, study in enumerate(studies)}).printed
    assert 0.002 <= (counts.faster + counts.slower) / len(studies) <= 0.02


def test_31_runs_see_ten_percent_where_loads_are_steady_and_miss_it_where_they_are_not(spreads):
    draw = np.random.default_rng(32)

    def power(chosen: list[float]) -> float:
        pairs = [(runs(draw, cv), runs(draw, cv, mean=900)) for cv in chosen * 4]
        return sum(block_ratio(a, b).interval(0.99)[1] < 1 for a, b in pairs) / len(pairs)

    assert power([cv for cv in spreads if cv < 0.05]) > 0.99
    assert power([cv for cv in spreads if cv > 0.2]) < 0.5
