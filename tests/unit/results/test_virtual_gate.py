"""Gates in virtual time: a few exact pairs decide, where nothing is left to chance."""

import pytest
from msgspec import structs

from dragstrip.cli import app, exits
from dragstrip.model.clock import NETWORK, PRICED
from dragstrip.model.effects import Direction
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.capsules import compare_capsules
from dragstrip.results.compare.gate import gate, parse
from dragstrip.stats.block_ratio import block_ratio
from dragstrip.stats.majority import Majority
from made_capsule import capsule, study

NO_CHANCE = study(clock=NETWORK)


def pair(folder, a, b, of=NO_CHANCE) -> tuple[Capsule, Capsule]:
    return tuple(
        capsule(folder / name, {"h2": times, "h3": times}, of=of)
        for name, times in (("a", a), ("b", b))
    )


def verdicts(folder, a, b, of=NO_CHANCE, text="slower > 1%") -> set[str]:
    rows = compare_capsules(*pair(folder, a, b, of)).rows
    return {g.verdict for g in gate([parse(text)], rows)}


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        ([1011.0], "failed"),
        ([1009.0], "passed"),
        ([1011.0, 1009.0], "not decided"),
        ([1011.0, 1500.0], "not decided"),  # no two loads agree, so chance is larger than 1 %
        ([1000.0, 1000.0, 1500.0], "passed"),  # one unlucky load is outvoted
        ([1011.0, 1012.0, 1000.0], "failed"),
    ],
)
def test_more_than_half_of_the_pairs_decide(tmp_path, b, expected):
    assert verdicts(tmp_path, [1000.0] * len(b), b) == {expected}


def test_faster_is_the_same_turned_round(tmp_path):
    one, two = [1000.0] * 2, [980.0] * 2
    assert verdicts(tmp_path, one, two, text="faster > 1%") == {"failed"}
    assert verdicts(tmp_path / "less", one, two, text="faster > 3%") == {"passed"}


def test_many_cells_need_no_more_loads(tmp_path):
    rows = compare_capsules(*pair(tmp_path, [1000.0], [1020.0])).rows
    conditions = [parse(f"slower > 1.{i}%") for i in range(1, 9)]
    assert {(g.verdict, g.p, g.needs) for g in gate(conditions, rows)} == {("failed", None, 1)}


@pytest.mark.parametrize(
    "other",
    [
        study(),
        structs.replace(
            NO_CHANCE,
            networks=(
                structs.replace(
                    NO_CHANCE.networks[0], up=structs.replace(NO_CHANCE.networks[0].up, loss=0.01)
                ),
            ),
        ),
        structs.replace(
            NO_CHANCE,
            stacks=tuple(structs.replace(s, browser="firefox") for s in NO_CHANCE.stacks),
        ),
    ],
    ids=["real time", "random loss", "a browser with luck of its own"],
)
def test_where_loads_have_noise_few_loads_decide_nothing(tmp_path, other):
    assert verdicts(tmp_path, [1000.0] * 3, [1100.0] * 3, other) == {"not decided"}


def test_a_load_that_did_not_end_is_not_outvoted_silently(tmp_path):
    assert verdicts(tmp_path, [1000.0] * 3, [1000.0, 1000.0, None]) == {"not decided"}


def test_chance_is_whatever_is_drawn_for_a_packet():
    assert not Direction(rate_mbps=8, delay_ms=20, queue_ms=100).chance
    for lot in ({"loss": 0.01}, {"jitter_ms": 1}, {"duplicate": 0.1}, {"reorder": 0.1}):
        assert Direction(delay_ms=20, **lot).chance, lot


def test_computing_that_repeats_itself_is_no_noise(tmp_path):
    of = study(clock=PRICED)
    assert verdicts(tmp_path, [1000.0] * 3, [1100.0, 1101.0, 1102.0], of) == {"failed"}


@pytest.mark.parametrize("threshold", [1, 9])
def test_pairs_decide_only_what_is_larger_than_chance(tmp_path, threshold):
    """Loads of both sides are up to 5 % away from their median."""
    a, b = [950.0, 1000.0, 1050.0], [1055.0, 1110.0, 1165.0]
    decided = verdicts(tmp_path, a, b, text=f"slower > {threshold}%")
    assert decided == ({"not decided"} if threshold == 1 else {"failed"})


def test_over_many_seeds_a_test_decides_what_pairs_do_not(tmp_path):
    a = [950.0, 1050.0] * 5
    assert verdicts(tmp_path, a, [1.11 * x for x in a]) == {"failed"}


def test_a_paint_in_another_group_fails_no_gate(tmp_path):
    """Nothing changed but the seeds: three loads of each side happen to be of two groups."""
    a, b = (
        capsule(tmp_path / name, {"h2": [1000.0] * 3, "h3": [1000.0] * 3}, of=NO_CHANCE, fcp_ms=fcp)
        for name, fcp in (("a", 1200.0), ("b", 2840.0))
    )
    rows = compare_capsules(a, b).rows
    assert {g.verdict for g in gate([parse("fcp slower > 1%")], rows)} == {"not decided"}


def test_a_tie_decides_nothing_and_the_ends_are_told():
    loads = (100.0, 100.0), (101.0, 99.0)
    found = Majority(block_ratio(*loads), loads)
    assert found.beyond(1.0, "above") is None
    assert found.ends == pytest.approx((0.99, 1.01))
    assert found.interval() is None


def test_the_terminal_says_that_pairs_decided(tmp_path, capfd):
    pair(tmp_path, [1000.0] * 2, [1020.0, 1030.0])
    asked = ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--fail-if", "slower > 1%"]
    assert app(asked, standalone_mode=False) == exits.FAILED_CONDITION
    said = capfd.readouterr().err
    assert "1.02499 (pairs 1.02000 to 1.03000)" in said
    assert "failed for h2 on made|LTE (virtual time, by pairs)" in said
    assert "cannot fail" not in said
