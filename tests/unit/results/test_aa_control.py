"""The A/A control of a machine: what passes, what is refused, and what needs another round."""

import pytest

from dragstrip.results.aa_control import BLOCKS, AAControl, Round

EVEN = (0.97, 1.02, 0.99, 1.03, 0.98, 1.01, 1.04, 0.96)
HELD = tuple(1.1 * ratio for ratio in EVEN)
QUICK = tuple(0.9 * ratio for ratio in EVEN)
NONE: tuple[float, ...] = ()


def control(*rounds: tuple[float, ...], invalid: dict[str, int] | None = None) -> AAControl:
    """One round for each list of ratios."""
    return AAControl(
        stack="h2",
        page="demo",
        network="bare",
        rounds=tuple(
            Round(
                a_ms=(300.0,) * len(ratios),
                b_ms=tuple(300 * ratio for ratio in ratios),
                visits=2 * BLOCKS,
                invalid=invalid or {},
                took_s=10.0,
            )
            for ratios in rounds
        ),
    )


@pytest.mark.parametrize("rounds", [(EVEN,), (HELD, EVEN), (HELD, QUICK, EVEN)])
def test_a_machine_passes_with_the_first_round_that_shows_nothing(rounds):
    found = control(*rounds)
    assert found.passed
    assert not found.refusal


@pytest.mark.parametrize("rounds", [(HELD,), (QUICK,), (HELD, QUICK), (EVEN[:6],)])
def test_one_difference_or_too_few_blocks_need_another_round(rounds):
    found = control(*rounds)
    assert not found.passed
    assert not found.refusal


@pytest.mark.parametrize("rounds", [(HELD, HELD), (HELD, QUICK, HELD), (HELD, EVEN[:6], HELD)])
def test_the_same_difference_twice_is_refused(rounds):
    said = control(*rounds).refusal
    assert "h2 is slower under its second name" in said
    assert said.count("10.0 % (5.8 to 14.2)") == 2


def test_a_side_that_is_faster_is_refused_as_well():
    assert "faster under its second name" in control(QUICK, QUICK).refusal


@pytest.mark.parametrize(("valid", "refused"), [(3, True), (4, False)])
def test_a_round_of_mostly_invalid_blocks_is_refused(valid, refused):
    said = control(EVEN[:valid], invalid={"overloaded": 9}).refusal
    wanted = f"its A/A control is mostly invalid: {valid} of 8 blocks valid (overloaded 9)"
    assert said == (wanted if refused else "")


def test_three_rounds_without_a_verdict_are_refused():
    assert "showed nothing in 3 rounds" in control(*[EVEN[:6]] * 3).refusal


def test_rounds_add_up_and_say_what_they_cost():
    found = control(EVEN).after(control(HELD))
    assert len(found.rounds) == 2
    assert found.words() == (
        "h2 under two names: 1.000 (0.962 to 1.038), 8 blocks, 32 visits in 20 s"
    )
    assert control(EVEN).after(None) == control(EVEN)
    assert "under two names: 0.990, 3 blocks" in control(EVEN[:3]).words()
    assert "no valid block" in control(NONE).words()
