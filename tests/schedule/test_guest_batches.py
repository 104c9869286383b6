"""A batch is one guest's: its blocks never run beside each other, whatever the number of jobs."""

from msgspec import structs

import made
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Block
from dragstrip.schedule.schedule import Schedule
from dragstrip.virtual.admission import Guests

STUDY = structs.replace(made.study(runs=6), clock=NETWORK, per_guest=3)


def batches(blocks: list[Block]) -> list[int]:
    return [block.batch for block in blocks]


def test_blocks_are_batched_in_the_order_of_the_schedule():
    assert batches(list(STUDY.blocks())) == [0, 0, 0, 1, 1, 1]
    assert batches(list(structs.replace(STUDY, per_guest=1).blocks())) == [None] * 6


def test_two_jobs_work_on_two_batches():
    schedule, admission = Schedule(STUDY), Guests(STUDY, jobs=2)
    running: list[Block] = []
    while attempt := schedule.take(lambda block: admission.admits(block, running)):
        running.append(attempt.block)
    assert batches(running) == [0, 1]


def test_the_rest_of_a_batch_comes_when_its_block_is_done():
    schedule, admission = Schedule(STUDY), Guests(STUDY, jobs=2)
    first = schedule.take()
    other = schedule.take(lambda block: admission.admits(block, [first.block]))
    assert batches([first.block, other.block]) == [0, 1]
    following = schedule.take(lambda block: admission.admits(block, [other.block]))
    assert following.block.batch == 0
