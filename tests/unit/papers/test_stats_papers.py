"""The papers' own reducers on data whose answer is known."""

import csv
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import ttest_ind

from dragstrip.stats.tukey import box
from dragstrip_papers.stats.anova_counts import anova_counts
from dragstrip_papers.stats.biswal_share import cell_ratio, share_below_one
from dragstrip_papers.stats.decision_tree import (
    Leaf,
    PublishedLeaf,
    Split,
    agreement,
    grow,
)
from dragstrip_papers.stats.kakhki_map import percent_faster
from dragstrip_papers.stats.one_rtt import one_rtt_corrected
from dragstrip_papers.stats.rule7010 import EQUAL, beats, label, winners
from dragstrip_papers.stats.wolsing_gain import gains

CURVES = Path(__file__).parents[2] / "data" / "megyesi2016-curves.csv"


def test_biswal_takes_the_median_of_five_and_counts_cells():
    assert cell_ratio([10, 20, 30, 40, 50, 1], [15, 15, 15, 1, 99]) == 0.5
    found = share_below_one([0.9, 0.8, 1.0, 1.2])
    assert (found.below, found.cells, found.share) == (2, 4, 0.5)
    with pytest.raises(ValueError, match="5 loads"):
        cell_ratio([1] * 4, [1] * 5)


def test_seventy_percent_at_ninety_percent_is_enough():
    assert beats([90] * 7 + [200] * 3, [100])
    assert not beats([90] * 6 + [200] * 4, [100])
    assert not beats([91] * 10, [100])


@pytest.mark.parametrize(
    ("quic", "spdy", "http", "won"),
    [
        (100, 101, 102, ()),
        (50, 100, 100, ("quic",)),
        (50, 51, 100, ("quic", "spdy")),
        (50, 75, 100, ("quic",)),
        (100, 50, 51, ("spdy", "http")),
        (92, 100, 105, ()),  # better than the third, but no other protocol wins with it
    ],
)
def test_who_wins_a_scenario(quic, spdy, http, won):
    assert winners({"quic": [quic], "spdy": [spdy], "http": [http]}) == won


def test_winners_as_the_paper_writes_them():
    assert (label(()), label(("QUIC",)), label(("QUIC", "SPDY"))) == (EQUAL, "QUIC", "QUIC|SPDY")


def published_curves() -> dict[str, dict[str, list[float]]]:
    curves: dict[str, dict[str, list[float]]] = {}
    with CURVES.open() as rows:
        for row in csv.DictReader(rows):
            at = [float(k[1:]) / 100 for k in row if k.startswith("q")]
            values = [float(v) for k, v in row.items() if k.startswith("q")]
            times = np.interp(np.linspace(0.005, 0.995, 100), at, values).tolist()
            curves.setdefault(row["figure"], {})[row["protocol"]] = times
    return curves


def test_the_rule_on_megyesis_published_curves():
    found = {figure: winners(times) for figure, times in published_curves().items()}
    assert found == {
        "4a": (),
        "4b": (),
        "4c": (),
        "4d": ("spdy", "http1"),  # the paper's tree prints SPDY alone
        "4e": ("http1",),
        "4f": ("http1",),
        "5a": ("quic",),
        "5b": ("quic",),
        "5c": ("quic",),
    }


LEAVES = (
    PublishedLeaf(levels={"rtt": "high"}, winner="QUIC"),
    PublishedLeaf(levels={"rtt": "low", "size": "small"}, winner=EQUAL),
    PublishedLeaf(levels={"rtt": "low", "size": "large", "rate": "high"}, winner="SPDY"),
    PublishedLeaf(levels={"rtt": "low", "size": "large", "rate": "low"}, winner=EQUAL),
)
CELLS = [{"rtt_ms": r, "size": s, "rate": b} for r, s, b in product((18, 218), (0, 1), (2, 10, 50))]


def truth(cell: dict[str, float]) -> str:
    if cell["rtt_ms"] > 100:
        return "QUIC"
    return "SPDY" if cell["size"] and cell["rate"] == 50 else EQUAL


def winner_of(tree: Split | Leaf, scenario: dict[str, float]) -> str:
    while isinstance(tree, Split):
        tree = tree.low if scenario[tree.factor] <= tree.threshold else tree.high
    return tree.winner


def test_the_tree_finds_the_rule_that_made_the_data():
    won = [truth(c) for c in CELLS]
    tree = grow(CELLS, won)
    assert [winner_of(tree, c) for c in CELLS] == won
    assert isinstance(tree, Split)
    assert (tree.factor, tree.threshold) == ("rtt_ms", 118)
    assert tree.high == Leaf(winner="QUIC", counts={"QUIC": 6})


def test_a_shallow_tree_keeps_the_counts_of_what_it_lumps_together():
    tree = grow(CELLS, [truth(c) for c in CELLS], depth=1)
    assert isinstance(tree, Split)
    assert tree.low == Leaf(winner=EQUAL, counts={EQUAL: 5, "SPDY": 1})


def test_agreement_leaf_by_leaf_with_an_ambiguous_rate():
    rates = {2: ("low",), 10: ("low", "high"), 50: ("high",)}
    scenarios = [
        {
            "rtt": ("high",) if c["rtt_ms"] > 100 else ("low",),
            "size": ("large",) if c["size"] else ("small",),
            "rate": rates[c["rate"]],
        }
        for c in CELLS
    ]
    found = agreement(LEAVES, scenarios, [truth(c) for c in CELLS])
    assert [(a.agreeing, a.scenarios) for a in found] == [(6, 6), (3, 3), (1, 2), (2, 2)]
    assert found[2].found == {EQUAL: 1, "SPDY": 1}


def test_tukeys_box_as_plotly_draws_it():
    """Hazen quartiles of 1..10 are 3, 5.5 and 8; the reach is then 15.5."""
    found = box([*range(1, 10), 10.0])
    assert (found.q1, found.median, found.q3) == (3, 5.5, 8)
    assert (found.low, found.high, found.outliers) == (1, 10, ())
    wild = box([*range(1, 10), 100.0])
    assert (wild.high, wild.outliers, wild.n) == (9, (100.0,), 10)


def test_wolsings_gain_is_negative_when_faster():
    runs = {"a": ([100, 100], [80, 100]), "b": ([1000], [800])}
    assert gains(runs) == pytest.approx({"a": -0.1, "b": -0.2})


def test_anova_counts_by_the_sign_of_the_mean():
    draw = np.random.default_rng(8)

    def runs(mean: float) -> list[float]:
        return (mean * draw.normal(1, 0.04, 31)).tolist()

    pages = {f"same{i}": (runs(100), runs(100)) for i in range(10)}
    pages |= {f"fast{i}": (runs(100), runs(80)) for i in range(20)}
    pages |= {"slow": (runs(100), runs(130))}
    found = anova_counts(pages)
    assert (found.printed.faster, found.printed.slower) == (20, 1)
    assert found.holm.none == 10
    weak = {f"p{i}": (runs(100), runs(102.5)) for i in range(38)}
    assert anova_counts(weak).holm.slower < anova_counts(weak).printed.slower


def test_anova_of_two_is_the_pooled_t_test():
    a, b = [100.0, 104, 97, 101], [96.0, 95, 99, 97]
    p = float(ttest_ind(a, b).pvalue)
    at = {"page": (a, b)}
    assert anova_counts(at, alpha=p * 1.001).printed.faster == 1
    assert anova_counts(at, alpha=p * 0.999).printed.none == 1


def test_the_printed_row_of_wolsings_table_3():
    """gnu.org on MSS: -1100 ms left after one round trip of 760 ms is -1.447 round trips."""
    found = one_rtt_corrected([5000.0], [5000.0 - 760 - 1100], 760)
    assert (found.ms, round(found.rtts, 3)) == (-1100, -1.447)


def test_the_welch_map_leaves_blank_what_it_cannot_see():
    a, b = [100.0, 101, 99, 100, 102], [50.0, 52, 49, 51, 50]
    assert percent_faster(a, b) == pytest.approx(49.8, abs=0.1)
    assert percent_faster(b, a) < -90
    assert percent_faster(a, [100.0, 99, 103, 98, 101]) is None
    assert percent_faster([100.0, 100], [50.0, 50]) == 50
    assert percent_faster([100.0] * 5, b) == pytest.approx(49.6)
