"""Planted sizes, sureness and spread appear in words, and nothing else."""

import random

import pytest
from msgspec import structs

import made
from dragstrip.model.visit import Visit
from dragstrip.report.data.cells import cells
from dragstrip.report.data.effect import Advantage, effects, size_of
from dragstrip.report.data.lead_bars import lead_bars
from dragstrip.report.words.effect import headline, notes, sooner, spread, told


def cell_of(loads: dict[str, list[float | None]]):
    """A cell with these loads in ms by stack and block. None is a load that timed out."""
    whole = made.study(runs=len(next(iter(loads.values()))))
    of = structs.replace(whole, stacks=tuple(made.STACKS[name] for name in loads))
    visits = [
        _visit(of, block, name, loads[name][block.index])
        for block in of.blocks()
        for name in block.order
    ]
    (found,) = cells(of, made.table(of, visits))
    return found


def _visit(of, block, stack: str, plt_ms: float | None) -> Visit:
    ended = {"plt_ms": plt_ms} if plt_ms else {"plt_ms": None, "outcome": "timeout"}
    own = {"block": block.id, "stack": stack, "page": block.page, "network": block.network}
    return made.visit(stack, **own, seed=block.seed, link=None, **ended)


def effect_of(loads: dict[str, list[float | None]]) -> Advantage:
    (found,) = effects(cell_of(loads))
    return found


def noisy(ms: float, blocks: int, share: float = 0.01, seed: int = 1) -> list[float | None]:
    draw = random.Random(seed)
    return [ms * draw.lognormvariate(0, share) for _ in range(blocks)]


def test_a_planted_difference_has_its_size_and_is_very_sure_with_many_blocks():
    found = effect_of({"h2": noisy(1000, 12, seed=1), "h3": noisy(700, 12, seed=2)})
    assert headline(found) == "large, very sure: faster in 12 of 12 blocks"
    assert found.sooner is not None
    assert found.sooner.value == pytest.approx(300, abs=15)
    assert "ms sooner (" in sooner(found)


@pytest.mark.parametrize(("saved", "word"), [(0.03, "small"), (0.1, "medium"), (0.3, "large")])
def test_the_size_is_the_share_of_the_slower_load(saved, word):
    faster = noisy(1000 * (1 - saved), 8, 0.001, seed=2)
    found = effect_of({"h2": noisy(1000, 8, 0.001), "h3": faster})
    assert found.sizes == (word, word)


def test_a_size_at_a_limit_has_both_words():
    found = effect_of({"h2": noisy(1000, 12, 0.03, seed=3), "h3": noisy(800, 12, 0.03, seed=4)})
    assert headline(found).startswith("medium to large, ")
    assert (size_of(0.0499), size_of(0.05), size_of(0.2)) == ("small", "medium", "large")


def test_equal_stacks_are_alike_or_undecided_but_never_sized():
    alike = effect_of({"h2": noisy(1000, 12, seed=1), "h3": noisy(1000, 12, seed=2)})
    assert alike.sureness in ("alike", "not shown")
    wide = effect_of({"h2": noisy(1000, 6, 0.3, seed=1), "h3": noisy(1000, 6, 0.3, seed=2)})
    assert wide.sureness == "not shown"
    assert "no difference shown" in headline(wide)
    assert wide.sizes is None
    assert sooner(wide) == ""


def test_five_blocks_are_sure_at_most_and_four_say_nothing():
    five = {"h2": noisy(1000, 5, seed=1), "h3": noisy(700, 5, seed=2)}
    assert effect_of(five).sureness == "sure"
    cell = cell_of(five)
    assert notes(lead_bars(cell, effects(cell))) == [
        "Five blocks have an interval of 93.75 % at most."
    ]
    four = effect_of({name: loads[:4] for name, loads in five.items()})
    assert headline(four) == "too few blocks to say; faster in 4 of 4 blocks"


def test_loads_that_failed_are_counted_and_no_number_is_made_up():
    failed: list[float | None] = [None] * 6
    found = effect_of({"h2": failed, "h3": noisy(700, 6)})
    assert headline(found) == "most loads of the other fail, sure: faster in 6 of 6 blocks"
    assert sooner(found) == spread(found) == ""


def test_a_wider_spread_is_named_if_there_are_enough_blocks():
    loads = {"h2": noisy(1000, 20, 0.15, seed=1), "h3": noisy(1000, 20, 0.02, seed=2)}
    said = spread(effect_of(loads))
    assert said.startswith("h3 varies less than h2: ")
    assert said.endswith("relative to the load time, also.")
    assert spread(effect_of({name: own[:14] for name, own in loads.items()})) == ""


def test_equal_spreads_and_a_failed_load_are_silent():
    equal = {"h2": noisy(1000, 20, 0.05, seed=1), "h3": noisy(1000, 20, 0.05, seed=2)}
    assert spread(effect_of(equal)) == ""
    loads = {"h2": [None, *noisy(1000, 19, 0.15, seed=1)], "h3": noisy(1000, 20, 0.02, seed=2)}
    assert spread(effect_of(loads)) == ""


def test_shorter_loads_that_vary_as_much_for_their_length_are_told_apart_from_steadier_ones():
    loads = {"h2": noisy(3000, 40, 0.05, seed=1), "h3": noisy(1000, 40, 0.05, seed=2)}
    said = spread(effect_of(loads))
    assert said.startswith("h3 varies less than h2: ")
    assert said.endswith("relative to the load time, not shown.")


def test_the_bars_share_an_axis_and_the_leader_comes_first():
    loads = {"h1": noisy(1200, 8), "h2": noisy(1000, 8), "h3": noisy(700, 8)}
    cell = cell_of(loads)
    first, *others = lead_bars(cell, effects(cell))
    assert [bar.stack.name for bar in (first, *others)] == ["h3", "h2", "h1"]
    assert first.effect is None
    assert first.end == first.solid
    assert all(bar.solid == first.end < bar.end <= 1 for bar in others)
    assert all(bar.span and bar.span[0] <= bar.span[1] <= 1 for bar in others)
    assert told(first, [first, *others]) == "fastest"
