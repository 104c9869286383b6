"""Bounds of a ratio for all possible results of invalid visits."""

import math
import random

import pytest
from msgspec import structs

import made
from dragstrip.model.visit import Reason, Visit
from dragstrip.report.words.numbers import ratio
from dragstrip.results.bounds import filled
from dragstrip.results.compare.stacks import compare

LATE = (Reason("overloaded", "made up"),)


def study(runs: int, pages: int = 1):
    names = tuple(f"page{i}" for i in range(pages))
    two = (made.STACKS["h2"], made.STACKS["h3"])
    return structs.replace(made.study(runs=runs, pages=names), stacks=two)


def visits(of, spoils, spread=0.05, seed=1) -> list[Visit]:
    """Both stacks take a second; `spoils(stack, ms, draw)` makes a visit invalid, and its block is
    made again, three times at most."""
    draw, kept = random.Random(seed), []
    for block in of.blocks():
        for attempt in range(4):
            made_now = []
            for stack in ("h2", "h3"):
                ms = 1000 * math.exp(draw.gauss(0, spread))
                reasons = LATE if spoils(stack, ms, draw) else ()
                made_now.append(
                    made.visit(
                        stack,
                        block=block.id,
                        page=block.page,
                        attempt=attempt,
                        plt_ms=ms,
                        reasons=reasons,
                    )
                )
            kept += made_now
            if all(v.valid for v in made_now):
                break
    return kept  # fmt: skip


def plt(of, kept):
    return [c for c in compare(of, kept) if c.metric == "plt_ms"]


def test_few_invalid_visits_of_all_stacks_alike_need_no_bound():
    of = study(31)
    (found,) = plt(of, visits(of, lambda stack, ms, draw: draw.random() < 0.05))
    assert found.bound is None
    assert (found.least, found.most) == (found.low, found.high)


def test_slow_visits_of_one_stack_that_are_lost_make_it_look_faster_but_for_the_bound():
    of = study(31)
    (found,) = plt(of, visits(of, lambda stack, ms, draw: stack == "h3" and ms > 1020))
    assert found.high < 1  # the survivors: wrong, both stacks are the same
    assert found.bound.low < 1 < found.bound.high
    assert found.most > 1
    assert "invalid attempts" in ratio(found)


def test_a_stack_of_which_most_visits_are_invalid_has_no_ratio_without_its_bound():
    """17 of 31, as 10 MB over TCP+ in docs/reference/parity.md."""
    of = structs.replace(study(31), reruns=0)
    lost = iter([True] * 17 + [False] * 14)
    made_once = [v for v in visits(of, lambda stack, ms, draw: False) if v.attempt == 0]
    kept = [
        structs.replace(v, reasons=LATE) if v.stack == "h3" and next(lost) else v for v in made_once
    ]
    (found,) = plt(of, kept)
    assert found.n == 14
    assert (found.bound.missing, found.bound.attempts) == (17, 31)
    assert (found.bound.low, found.bound.high) == (0, math.inf)
    assert ratio(found).endswith("0.000 to ∞ with the 17 of 31 invalid attempts")


def test_a_bias_over_all_cells_bounds_every_comparison():
    of = study(12, pages=30)
    kept = visits(of, lambda stack, ms, draw: stack == "h3" and draw.random() < 0.05)
    found = plt(of, kept)
    assert len(found) == 30
    assert all(c.bound and c.bound.low <= c.low and c.high <= c.bound.high for c in found)


@pytest.mark.parametrize(("missing", "bounded"), [(0, True), (4, True), (5, True), (12, False)])
def test_a_bound_says_something_while_fewer_than_half_are_missing(missing, bounded):
    found = filled([math.log(0.8)] * 20, missing).bound()
    assert (found.low > 0 and found.high < math.inf) == bounded
    assert found.attempts == 20 + missing


def test_the_bound_covers_the_truth_whatever_is_lost():
    """Both stacks are the same, and long loads are more often invalid."""
    of = structs.replace(study(21), reruns=0)
    covered = 0
    for seed in range(60):
        kept = visits(of, lambda stack, ms, draw: stack == "h3" and ms > 1040, seed=seed)
        (found,) = plt(of, [v for v in kept if v.attempt == 0])
        covered += found.bound is None or found.bound.low <= 1 <= found.bound.high
    assert covered >= 56
