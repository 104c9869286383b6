"""The schedule reads like a sentence: what is asked for, what came back, what comes next."""

import pytest
from msgspec import structs

import made
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Reason, Visit, Visual
from dragstrip.schedule.run import Schedule, Task


def visit_for(task: Task, *, valid: bool = True) -> Visit:
    return made.visit(
        made.STACKS[task.stack].protocol,
        block=task.block.id,
        attempt=task.attempt,
        reasons=() if valid else (Reason("overloaded", "made up"),),
    )


def play(
    study: Study, done: list[Visit], bad: set[tuple[str, int, str]] = frozenset()
) -> list[Visit]:
    schedule = Schedule(study, done)
    visits = []
    for task in schedule.tasks():
        key = (task.block.id, task.attempt, task.stack)
        visits.append(visit_for(task, valid=key not in bad))
        schedule.add(visits[-1])
    return visits


def keys(visits: list[Visit]) -> list[tuple[str, int, str]]:
    return [(v.block, v.attempt, v.stack) for v in visits]


def test_a_block_visits_every_stack_once_in_an_order_that_varies():
    blocks = list(made.study(runs=40).blocks())
    assert all(sorted(b.order) == ["h1", "h2", "h3"] for b in blocks)
    assert len({b.order for b in blocks}) == 6
    assert len({b.seed for b in blocks}) == 40


def test_the_same_seed_gives_the_same_schedule_and_another_seed_another():
    assert list(made.study().blocks()) == list(made.study().blocks())
    assert list(made.study(seed=2).blocks()) != list(made.study().blocks())


def test_rounds_go_over_all_pages_before_any_page_repeats():
    blocks = list(made.study(runs=5, pages=("a", "b", "c")).blocks())
    for start in range(0, 15, 3):
        assert {b.page for b in blocks[start : start + 3]} == {"a", "b", "c"}


def test_more_runs_keep_the_blocks_there_are():
    assert list(made.study(runs=9).blocks())[:3] == list(made.study(runs=3).blocks())


@pytest.mark.parametrize("cut", range(10))
def test_a_study_cut_off_anywhere_makes_the_same_visits_as_an_undisturbed_one(cut):
    whole = play(made.study(), [])
    resumed = whole[:cut] + play(made.study(), whole[:cut])
    assert keys(resumed) == keys(whole)


def test_an_invalid_visit_reruns_its_whole_block_and_only_that_after_all_others():
    first = next(iter(made.study().blocks()))
    visits = play(made.study(), [], bad={(first.id, 0, "h2")})
    assert keys(visits)[9:12] == [(first.id, 1, stack) for stack in first.order]
    assert len(visits) == 12


def test_a_block_that_stays_invalid_is_given_up_after_its_reruns():
    first = next(iter(made.study().blocks()))
    visits = play(made.study(), [], bad={(first.id, attempt, "h1") for attempt in range(9)})
    attempts = {v.attempt for v in visits if v.block == first.id}
    assert attempts == {0, 1, 2, 3}
    assert Schedule(made.study(), visits).visits_left() == 0


def test_what_is_left_grows_by_a_block_when_one_turns_out_invalid():
    schedule = Schedule(made.study(), [])
    tasks = schedule.tasks()
    seen = []
    for valid in (True, True, False, True):
        seen.append(schedule.visits_left())
        schedule.add(visit_for(next(tasks), valid=valid))
    assert [*seen, schedule.visits_left()] == [9, 8, 7, 9, 8]


def test_misses_that_differ_between_stacks_rerun_the_block():
    study = made.study(runs=1)
    schedule = Schedule(study, [])
    tasks = schedule.tasks()
    for _ in range(3):
        visit = visit_for(next(tasks))
        if visit.stack == "h3":
            miss = made.served("https://a.test/new", "h3", match="miss")
            visit = structs.replace(visit, served=(*visit.served, miss))
        schedule.add(visit)
    assert next(tasks).attempt == 1


def test_the_reference_picture_is_that_of_the_first_valid_visit_of_the_page():
    looking = structs.replace(made.study(runs=1), client=Client(frames=True))
    schedule = Schedule(looking, [])
    assert schedule.reference("made") == b""
    tasks = schedule.tasks()
    for valid, picture in ((False, b"wrong"), (True, b"first"), (True, b"second")):
        visit = visit_for(next(tasks), valid=valid)
        schedule.add(structs.replace(visit, visual=Visual(frames=1, final=picture)))
    assert schedule.reference("made") == b"first"
    assert Schedule(made.study(runs=1), []).reference("made") == b""
