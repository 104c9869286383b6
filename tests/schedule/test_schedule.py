"""The schedule reads like a sentence: what is asked for, what came back, what comes next."""

import io
from collections.abc import Iterator
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs
from PIL import Image

import made
from dragstrip.model.study import Client, Stopping, Study
from dragstrip.model.visit import Reason, Visit, Visual
from dragstrip.schedule.schedule import WINDOW, Attempt, Schedule


def visit_for(attempt: Attempt, stack: str, *, valid: bool = True) -> Visit:
    return made.visit(
        made.STACKS[stack].protocol,
        block=attempt.block.id,
        page=attempt.block.page,
        attempt=attempt.attempt,
        reasons=() if valid else (Reason("overloaded", "made up"),),
    )


def visits_of(schedule: Schedule) -> Iterator[tuple[Attempt, str]]:
    """The schedule's visits, one after another; each must be added before the next is requested."""
    while attempt := schedule.take():
        for stack in attempt.stacks:
            yield attempt, stack


def play(
    study: Study, done: list[Visit], bad: set[tuple[str, int, str]] = frozenset()
) -> list[Visit]:
    schedule = Schedule(study, done)
    visits = []
    for attempt, stack in visits_of(schedule):
        key = (attempt.block.id, attempt.attempt, stack)
        visits.append(visit_for(attempt, stack, valid=key not in bad))
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
    coming = visits_of(schedule)
    seen = []
    for valid in (True, True, False, True):
        seen.append(schedule.visits_left())
        schedule.add(visit_for(*next(coming), valid=valid))
    assert [*seen, schedule.visits_left()] == [9, 8, 7, 9, 8]


def test_misses_that_differ_between_stacks_rerun_the_block():
    study = made.study(runs=1)
    schedule = Schedule(study, [])
    coming = visits_of(schedule)
    for _ in range(3):
        visit = visit_for(*next(coming))
        if visit.stack == "h3":
            miss = made.served("https://a.test/new", "h3", match="miss")
            visit = structs.replace(visit, served=(*visit.served, miss))
        schedule.add(visit)
    assert next(coming)[0].attempt == 1


def test_the_reference_picture_is_that_of_the_first_valid_visit_of_the_page():
    looking = structs.replace(made.study(runs=1), client=Client(frames=True))
    schedule = Schedule(looking, [])
    coming = visits_of(schedule)
    white, black = picture(255), picture(0)
    for valid, final in ((False, black), (True, white)):
        visit = visit_for(*next(coming), valid=valid)
        schedule.add(structs.replace(visit, visual=Visual(frames=1, final=final)))
    visit = visit_for(*next(coming))
    for final, said in ((white, False), (black, True)):
        judged = schedule.judged(structs.replace(visit, visual=Visual(frames=1, final=final)))
        assert ("picture-mismatch" in judged.verdict) == said


def picture(level: int) -> bytes:
    """A thumbnail of one grey."""
    written = io.BytesIO()
    Image.new("RGB", (32, 24), (level, level, level)).save(written, "PNG")
    return written.getvalue()


def test_a_block_that_may_not_start_is_passed_over_but_not_forever():
    study = made.study(runs=WINDOW, pages=("fast", "slow"))
    schedule = Schedule(study)
    taken = []
    while attempt := schedule.take(lambda block: block.page == "slow"):
        taken.append(attempt.block)
    fast = [b.index for b in study.blocks() if b.page == "fast"]
    assert {b.page for b in taken} == {"slow"}
    assert [b.index for b in taken] == sorted(b.index for b in taken)
    assert len(taken) == WINDOW  # the last of its sixty-four blocks lies just within the window
    assert [schedule.take().block.index for _ in fast] == fast

    longer = Schedule(made.study(runs=2 * WINDOW, pages=("fast", "slow")))
    while attempt := longer.take(lambda block: block.page == "slow"):
        last = attempt.block
    assert last.index <= WINDOW


def test_an_attempt_is_handed_out_once_and_its_visits_come_back_in_any_order():
    study = made.study(runs=2)
    schedule = Schedule(study)
    one, other = schedule.take(), schedule.take()
    assert schedule.take() is None
    for stack in made.STACKS:
        for attempt in (other, one):
            schedule.add(visit_for(attempt, stack, valid=attempt is one or stack != "h2"))
    again = schedule.take()
    assert (again.block, again.attempt, again.stacks) == (other.block, 1, other.block.order)
    assert schedule.visits_left() == 3


def stopping(study: Study, looks: tuple[int, ...]) -> Study:
    return structs.replace(study, stopping=Stopping(looks=looks))


def test_a_cell_is_looked_at_when_its_blocks_up_to_the_look_are_settled_and_then_stops():
    asked = []

    def stop(blocks):
        asked.append([next(iter(visits.values())).block for visits in blocks])
        return len(blocks) >= 4

    study = stopping(made.study(runs=9), looks=(2, 4, 6))
    first = next(study.blocks()).id
    schedule = Schedule(study, stop=stop)
    visits = []
    for attempt, stack in visits_of(schedule):
        valid = (attempt.block.id, attempt.attempt) != (first, 0)
        visits.append(visit_for(attempt, stack, valid=valid))
        schedule.add(visits[-1])
    # Block 0 is invalid at first, so the look at two blocks waits for its rerun.
    assert [key[:2] for key in keys(visits)[::3]] == [
        ("made|LTE|0", 0),
        ("made|LTE|1", 0),
        ("made|LTE|0", 1),
        ("made|LTE|2", 0),
        ("made|LTE|3", 0),
    ]
    assert asked == [[f"made|LTE|{i}" for i in range(n)] for n in (2, 4)]
    assert (schedule.visits_left(), schedule.decided()) == (0, [("made", "LTE", "first")])


@pytest.mark.parametrize("cut", range(0, 16, 3))
def test_a_study_that_stops_stops_at_the_same_block_after_an_interruption(cut):
    def play_until_four(done):
        schedule = Schedule(
            stopping(made.study(runs=9), looks=(2, 4, 6)), done, lambda blocks: len(blocks) == 4
        )
        visits = []
        for attempt, stack in visits_of(schedule):
            visits.append(visit_for(attempt, stack))
            schedule.add(visits[-1])
        return visits

    whole = play_until_four([])
    assert keys(whole[:cut] + play_until_four(whole[:cut])) == keys(whole)


def test_only_the_cells_asked_for_are_visited_and_more_may_follow():
    whole = made.study(runs=2, pages=("a", "b"))
    part = structs.replace(whole, only=(("b", "LTE", "first"),))
    assert list(part.blocks()) == [b for b in whole.blocks() if b.page == "b"]


def test_controls_are_visited_in_every_block():
    same = structs.replace(made.STACKS["h1"], name="again")
    blocks = list(structs.replace(made.study(), controls=(same,)).blocks())
    assert all(sorted(b.order) == ["again", "h1", "h2", "h3"] for b in blocks)


@settings(max_examples=25)
@given(st.randoms(use_true_random=False), st.integers(1, 6))
def test_however_many_run_at_once_the_visits_are_those_of_one_after_another(luck, at_once):
    study = made.study(runs=5, pages=("a", "b"))

    def valid(attempt: Attempt, stack: str) -> bool:
        key = f"{attempt.block.id} {attempt.attempt} {stack}"
        return Random(key).random() > 0.15

    alone, serial = Schedule(study), []
    for attempt, stack in visits_of(alone):
        serial.append(visit_for(attempt, stack, valid=valid(attempt, stack)))
        alone.add(serial[-1])
    schedule, running, found = Schedule(study), [], []
    while True:
        while len(running) < at_once and (
            attempt := schedule.take(lambda _: not running or luck.random() < 0.7)
        ):
            running.append((attempt, list(attempt.stacks)))
        if not running:
            break
        attempt, left = luck.choice(running)
        stack = left.pop(0)
        if not left:
            running.remove((attempt, left))
        found.append(visit_for(attempt, stack, valid=valid(attempt, stack)))
        schedule.add(found[-1])
    assert sorted(keys(found)) == sorted(keys(serial))
    assert schedule.visits_left() == alone.visits_left() == 0


def test_an_attempt_that_another_machine_began_is_left_and_its_block_repeated():
    study = made.study(runs=2)
    first, second = study.blocks()
    done = [
        structs.replace(made.visit("h2", block=block.id), machine=machine)
        for block, machine in ((first, "there"), (second, "here"))
    ]
    schedule = Schedule(study, done, continues=lambda visit: visit.machine == "here")
    assert schedule.visits_left() == 3 + 2
    attempts = {attempt.block.id: attempt for attempt in iter(schedule.take, None)}
    assert (attempts[first.id].attempt, attempts[first.id].stacks) == (1, first.order)
    assert (attempts[second.id].attempt, len(attempts[second.id].stacks)) == (0, 2)


def test_an_attempt_that_was_cut_off_costs_no_rerun():
    study = made.study(runs=1)
    [block] = study.blocks()
    schedule = Schedule(study, [made.visit("h2", block=block.id)], continues=lambda _: False)
    seen = []
    for attempt, stack in visits_of(schedule):
        seen.append(attempt.attempt)
        schedule.add(visit_for(attempt, stack, valid=False))
    assert sorted(set(seen)) == [1, 2, 3, 4]
    assert schedule.visits_left() == 0


def test_what_is_given_back_is_there_again():
    study = made.study(runs=1)
    schedule = Schedule(study)
    lost = schedule.take()
    assert not schedule.waiting
    schedule.give_back(lost)
    assert schedule.take() == lost
    for stack in lost.stacks:
        schedule.add(visit_for(lost, stack))
    schedule.give_back(lost)
    assert not schedule.waiting
