"""Gates in virtual time: a few exact pairs decide, where nothing is left to chance."""

import pytest
from msgspec import structs

from dragstrip.cli import app, exits
from dragstrip.model.clock import NETWORK, Clock
from dragstrip.model.network import Direction
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.capsules import compare_capsules
from dragstrip.results.compare.gate import gate, parse
from dragstrip.stats.block_ratio import block_ratio
from dragstrip.stats.majority import Majority
from made_capsule import capsule, study

VIRTUAL = study(clock=NETWORK)


def pair(folder, a, b, of=VIRTUAL) -> tuple[Capsule, Capsule]:
    return tuple(
        capsule(folder / name, {"h2": times, "h3": times}, of=of)
        for name, times in (("a", a), ("b", b))
    )


def verdicts(folder, a, b, of=VIRTUAL, text="slower > 1%") -> set[str]:
    rows = compare_capsules(*pair(folder, a, b, of)).rows
    return {g.verdict for g in gate([parse(text)], rows)}


@pytest.mark.parametrize(
    ("b", "expected"),
    [
        ([1011.0], "failed"),
        ([1009.0], "passed"),
        ([1011.0, 1009.0], "not decided"),
        ([1011.0, 1500.0], "failed"),
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
        study(clock=Clock(kind="computing")),
        structs.replace(
            VIRTUAL,
            networks=(
                structs.replace(
                    VIRTUAL.networks[0], up=structs.replace(VIRTUAL.networks[0].up, loss=0.01)
                ),
            ),
        ),
        structs.replace(
            VIRTUAL,
            stacks=tuple(structs.replace(s, browser="firefox") for s in VIRTUAL.stacks),
        ),
    ],
    ids=["real time", "computing counts", "random loss", "a browser with luck of its own"],
)
def test_where_loads_have_noise_few_loads_decide_nothing(tmp_path, other):
    assert verdicts(tmp_path, [1000.0] * 3, [1100.0] * 3, other) == {"not decided"}


def test_a_load_that_did_not_end_is_not_outvoted_silently(tmp_path):
    assert verdicts(tmp_path, [1000.0] * 3, [1000.0, 1000.0, None]) == {"not decided"}


def test_chance_is_whatever_is_drawn_for_a_packet():
    assert not Direction(rate_mbps=8, delay_ms=20, queue_ms=100).chance
    for lot in ({"loss": 0.01}, {"jitter_ms": 1}, {"duplicate": 0.1}, {"reorder": 0.1}):
        assert Direction(delay_ms=20, **lot).chance, lot


def test_a_tie_decides_nothing_and_the_ends_are_told():
    found = Majority(block_ratio([100.0, 100.0], [101.0, 99.0]))
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
