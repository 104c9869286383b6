"""Boundaries against the published ones, and errors and savings by simulation."""

import numpy as np
import pytest

from dragstrip.stats.sequential import Decision, Plan, boundaries, decide, spent

EVEN = (20, 40, 60, 80, 100)


@pytest.mark.parametrize(
    ("spending", "published"),
    [
        ("O'Brien-Fleming", (4.8769, 3.3569, 2.6803, 2.2898, 2.0310)),
        ("Pocock", (2.4380, 2.4268, 2.4101, 2.3966, 2.3859)),
    ],
)
def test_boundaries_of_lan_and_demets(spending, published):
    """Five equal looks, two-sided 5 %: the tables of Reboussin, DeMets et al. (2000)."""
    found = boundaries(Plan(looks=EVEN, alpha=0.05, spending=spending))
    assert found == pytest.approx(published, abs=0.002)


def test_all_of_alpha_is_spent_at_the_cap_and_one_look_is_the_plain_test():
    assert spent(1, 0.05, "Pocock") == pytest.approx(0.05)
    assert spent(1, 0.05, "O'Brien-Fleming") == pytest.approx(0.05)
    assert boundaries(Plan(looks=(31,))) == pytest.approx((1.959964,), abs=1e-5)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"looks": (5, 5)}, "rising"),
        ({"looks": (1, 5)}, "at least 2"),
        ({"alpha": 0}, "alpha"),
        ({"margin": 0}, "margin"),
    ],
)
def test_a_plan_that_makes_no_sense(change, said):
    with pytest.raises(ValueError, match=said):
        Plan(**change)


def test_nothing_is_decided_between_looks():
    logs = [-0.5, -0.52, -0.49, -0.51, -0.5, -0.5, -0.5, -0.53]
    assert decide(logs[:7], Plan()).verdict == "go on"
    early = decide(logs * 2, Plan(looks=(8, 16)))
    assert (early.verdict, early.n) == ("faster", 8)  # later blocks change nothing


def test_a_look_whose_level_asks_for_more_blocks_decides_nothing():
    plan = Plan(looks=(6, 31), spending="O'Brien-Fleming")
    assert decide([-0.5] * 6, plan) == Decision("go on", 0, None, None)


def test_slower_equivalent_and_the_cap():
    draw = np.random.default_rng(1)
    slow = decide((0.3 + draw.normal(0, 0.05, 31)).tolist(), Plan())
    assert slow.verdict == "slower"
    same = decide(draw.normal(0, 0.01, 31).tolist(), Plan(margin=0.05))
    assert same.verdict == "equivalent"
    assert same.n < 31
    unclear = decide(draw.normal(0.01, 0.2, 31).tolist(), Plan(margin=0.05))
    assert (unclear.verdict, unclear.n) == ("not decided", 31)


@pytest.mark.parametrize("spending", ["O'Brien-Fleming", "Pocock"])
def test_looking_six_times_raises_no_more_false_alarms_than_once(spending):
    draw = np.random.default_rng(2)
    plan = Plan(alpha=0.05, spending=spending)
    found = [decide(draw.normal(0, 0.05, 31).tolist(), plan).verdict for _ in range(1500)]
    assert 0.035 <= sum(v in ("faster", "slower") for v in found) / 1500 <= 0.065


def test_large_effects_stop_early_and_small_ones_run_to_the_cap():
    draw = np.random.default_rng(3)

    def blocks(effect: float) -> float:
        made = [
            decide(draw.normal(effect, 0.07, 31).tolist(), Plan(alpha=0.01)) for _ in range(200)
        ]
        return float(np.mean([d.n for d in made]))

    assert blocks(0.0) > 30.5
    assert blocks(-0.3) < 13
