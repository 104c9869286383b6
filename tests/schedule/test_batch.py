"""Batches follow from the study alone, whatever makes them, and however often it is resumed."""

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

import made
from dragstrip.conduct.shard import Shard
from dragstrip.model.clock import NETWORK, Clock
from dragstrip.model.study import Client, Stopping, Study
from dragstrip.model.visit import Reason, Visit
from dragstrip.schedule.batch import batches
from dragstrip.schedule.schedule import Attempt, Schedule
from dragstrip.study.clients import loaded_by

VIRTUAL = structs.replace(made.study(runs=3), clock=NETWORK)


def predicted(runs: int, networks: int) -> Study:
    """A study that the load generator visits."""
    [lte] = VIRTUAL.networks
    return structs.replace(
        VIRTUAL,
        runs=runs,
        stacks=loaded_by(VIRTUAL.stacks, "loader"),
        networks=tuple(structs.replace(lte, name=f"n{n}") for n in range(networks)),
    )


def ids(study: Study) -> list[list[str]]:
    return [[block.id for block in batch] for batch in batches(study)]


@pytest.mark.parametrize("clock", [VIRTUAL.clock, Clock(kind="computing")])
def test_three_blocks_are_two_and_one(clock):
    whole = structs.replace(VIRTUAL, clock=clock)
    assert ids(whole) == [["made|LTE|0", "made|LTE|1"], ["made|LTE|2"]]


@pytest.mark.parametrize(
    "changes",
    [
        {"clock": Clock()},
        {"client": Client(net_log=True)},
        {"controls": made.study().stacks},
    ],
)
def test_blocks_are_alone_where_that_shows_or_where_they_are_long(changes):
    whole = structs.replace(VIRTUAL, **changes)
    assert batches(whole) == [(block,) for block in whole.blocks()]


def test_predictions_are_made_together_on_neighbouring_networks():
    whole = predicted(runs=1, networks=30)
    assert [len(batch) for batch in batches(whole)] == [11, 11, 8]
    first = next(batch for batch in batches(whole) if batch[0].network == "n0")
    assert [block.network for block in first] == [f"n{n}" for n in range(11)]


@pytest.mark.parametrize("whole", [VIRTUAL, predicted(1, 30), predicted(7, 30)])
def test_a_study_that_gets_more_runs_only_adds_to_its_batches(whole):
    more = {tuple(batch) for batch in ids(structs.replace(whole, runs=whole.runs + 4))}
    for batch in ids(whole):
        assert any(tuple(batch) == longer[: len(batch)] for longer in more)


def test_a_look_is_never_inside_a_batch():
    whole = structs.replace(VIRTUAL, runs=8, stopping=Stopping(looks=(3, 5)))
    assert [[b.index for b in batch] for batch in batches(whole)] == [
        [0, 1],
        [2],
        [3],
        [4],
        [5],
        [6, 7],
    ]


def test_shards_are_cut_between_batches():
    whole = predicted(3, 30)
    for number in (1, 2):
        mine = Shard(number, 2).blocks(whole)
        assert all(len({mine(block) for block in batch}) == 1 for batch in batches(whole))


def taken(schedule: Schedule) -> list[Attempt]:
    found = []
    while attempt := schedule.take():
        found.append(attempt)
    return found


def visit(block: str, attempt: int, stack: str, *, valid: bool = True) -> Visit:
    reasons = () if valid else (Reason("overloaded", "made up"),)
    return made.visit(made.STACKS[stack].protocol, block=block, attempt=attempt, reasons=reasons)


def test_a_batch_is_taken_as_one():
    one, other = taken(Schedule(VIRTUAL))
    assert [part.block.index for part in one.parts] == [0, 1]
    assert [part.block.index for part in other.parts] == [2]
    assert one.visits == 6


def test_what_a_resumed_batch_lacks_is_taken_as_one():
    first, second, _ = VIRTUAL.blocks()
    done = [visit(first.id, 0, stack) for stack in first.order]
    done.append(visit(second.id, 0, second.order[0]))
    one, _ = taken(Schedule(VIRTUAL, done))
    assert [(part.block, part.stacks) for part in one.parts] == [(second, second.order[1:])]


def test_what_a_lost_machine_left_is_taken_again():
    schedule = Schedule(VIRTUAL)
    attempt = schedule.take()
    done = attempt.parts[0]
    for stack in done.stacks:
        schedule.add(visit(done.block.id, 0, stack))
    schedule.give_back(attempt)
    again = schedule.take()
    assert [part.block.index for part in again.parts] == [1]


def test_an_invalid_block_is_made_again_on_its_own():
    schedule = Schedule(VIRTUAL)
    for part in schedule.take().parts:
        for stack in part.stacks:
            schedule.add(visit(part.block.id, 0, stack, valid=part.block.index != 0))
    _, again = taken(schedule)
    assert [(p.block.index, p.attempt) for p in again.parts] == [(0, 1)]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**32), runs=st.integers(1, 6), jobs=st.integers(1, 4))
def test_every_visit_is_made_once_whatever_runs_at_once_and_is_lost(seed, runs, jobs):
    luck, whole = Random(seed), structs.replace(VIRTUAL, runs=runs)
    schedule, running, seen = Schedule(whole), [], []
    while schedule.waiting or running:
        while len(running) < jobs and (attempt := schedule.take()):
            running.append(attempt)
        attempt = running.pop(luck.randrange(len(running)))
        orders = [(part.block.id, stack) for part in attempt.parts for stack in part.stacks]
        for block, stack in orders[: luck.randint(0, len(orders))]:
            seen.append((block, stack))
            schedule.add(visit(block, 0, stack))
        schedule.give_back(attempt)
    assert sorted(seen) == sorted((b.id, stack) for b in whole.blocks() for stack in b.order)
