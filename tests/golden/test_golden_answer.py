"""The plain sentences, for each way a comparison can end."""

import pytest
import simulate
from msgspec import structs

from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.answer import Answer, answer
from dragstrip.report.cells import cells
from dragstrip.report.figures import load_times


def race(*plts: tuple[float | None, ...]) -> tuple[Study, list[Visit]]:
    """Blocks of page load times in ms; the stacks are h1, h2, h3; None is a timeout."""
    study = simulate.study(runs=len(plts))
    study = structs.replace(study, stacks=study.stacks[: len(plts[0])])
    blank = next(simulate.visits(study, invalid=0, timeouts=0))
    visits = [
        structs.replace(
            blank,
            block=block.id,
            stack=stack.name,
            plt_ms=plt,
            outcome="loaded" if plt else "timeout",
        )
        for block, row in zip(study.blocks(), plts, strict=True)
        for stack, plt in zip(study.stacks, row, strict=True)
    ]
    return study, visits


def answered(*plts: tuple[float | None, ...]) -> Answer:
    study, visits = race(*plts)
    (cell,) = cells(study, visits)
    return answer(cell, study.client.timeout_s)


def test_a_shown_difference_names_stack_size_interval_and_blocks() -> None:
    said = answered((1000, 900), (1010, 905), (990, 895), (1000, 898), (1005, 902))
    assert said.standing == "shown"
    assert said.sentence == (
        "h2 loads demo over LTE 10.1 % faster than h1 (9.7 to 10.5 %); 95 % intervals, 5 blocks."
    )
    assert said.believe == "It rests on 10 visits, each of which passed every check of the testbed."


def test_the_baseline_may_win() -> None:
    said = answered(*[(900 + i, 1000) for i in range(5)])
    assert said.sentence.startswith("h1 loads demo over LTE 9.8 % faster than h2 (9.6 to 10.0 %)")


def test_an_interval_that_holds_one_shows_nothing() -> None:
    said = answered((1000, 900), (900, 1000), (1000, 910), (910, 1000), (950, 940))
    assert said.standing == "not shown"
    assert said.sentence.startswith("On demo over LTE no difference between h1 and h2 could be sh")


def test_of_three_only_the_shown_differences_are_claimed() -> None:
    said = answered(
        (1200, 1000, 1010),
        (1210, 1015, 1000),
        (1190, 995, 1000),
        (1205, 1001, 990),
        (1200, 990, 999),
    )
    assert "% faster than h1 (" in said.sentence
    assert "no difference could be shown" in said.sentence
    assert "faster than h2" not in said.sentence
    assert "faster than h3" not in said.sentence


@pytest.mark.parametrize("blocks", [1, 4])
def test_few_blocks_are_said_first(blocks: int) -> None:
    said = answered(*[(1000 + i, 900) for i in range(blocks)])
    assert said.standing == "too few"
    noun = "1 block," if blocks == 1 else "4 blocks,"
    assert said.sentence.startswith(f"Too few blocks to say ({noun} at least 5 are wanted). So far")


def test_a_timeout_is_owned_up_to() -> None:
    said = answered((1000, 900), (1000, 900), (1000, None), (1000, 900), (1000, 900))
    assert "1 load failed or timed out (h2 1) and enters at the limit of 180 s" in said.believe


def test_a_timeout_holds_the_curve_below_one_and_is_not_drawn_at_the_limit() -> None:
    study, visits = race((1000, 900), (1000, 900), (1000, None), (1000, 901))
    (cell,) = cells(study, visits)
    spec = load_times(cell)
    assert spec is not None
    rows = [row for data in spec["datasets"].values() for row in data]
    h2 = [row for row in rows if row["stack"] == "h2 (+1 not loaded)"]
    assert max(row["share"] for row in h2 if "share" in row) == 0.75
    assert max(row["seconds"] for row in rows if "spread" in row) == 1.0


def test_no_figure_when_nothing_loaded() -> None:
    study, visits = race((None, None))
    (cell,) = cells(study, visits)
    assert load_times(cell) is None


def test_the_typical_visit_is_the_one_of_median_load_time() -> None:
    study, visits = race((1000, 5), (3000, 6), (2000, 7), (9000, 8))
    (cell,) = cells(study, visits)
    assert [r.typical.plt_ms for r in cell.results if r.typical] == [2000, 6]
