"""Shards of a study: together everything, nothing twice, and cells that end early stay whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

import made
from dragstrip.conduct.shard import WHOLE, Shard, parse_shard
from dragstrip.model.errors import InputError
from dragstrip.model.study import Stopping
from dragstrip.schedule.schedule import Schedule


def study(runs: int, **changes: object):
    return structs.replace(made.study(runs=runs), connections=("first", "repeat"), **changes)


@given(runs=st.integers(1, 12), of=st.integers(1, 20), early=st.booleans())
def test_every_block_is_in_one_share(runs, of, early):
    whole = study(runs, stopping=Stopping(looks=(2,)) if early else None)
    shares = [Shard(n, of).blocks(whole) for n in range(1, of + 1)]
    for block in whole.blocks():
        assert sum(mine(block) for mine in shares) == 1


def test_shares_are_alike_in_size():
    whole = study(8)
    sizes = [sum(map(Shard(n, 3).blocks(whole), whole.blocks())) for n in (1, 2, 3)]
    assert max(sizes) - min(sizes) <= 1


def test_a_cell_that_may_end_early_is_not_cut():
    whole = study(8, stopping=Stopping(looks=(2,)))
    mine = Shard(1, 2).blocks(whole)
    assert {b.cell for b in whole.blocks() if mine(b)} == {whole.cells()[0]}


def test_a_schedule_gives_out_its_share_alone():
    whole = study(4)
    mine = Shard(2, 3).blocks(whole)
    schedule, taken = Schedule(whole, mine=mine), []
    while attempt := schedule.take():
        taken.append(attempt.block)
        for stack in attempt.stacks:
            schedule.add(made.visit(stack, block=attempt.block.id))
    assert {b.id for b in taken} == {b.id for b in whole.blocks() if mine(b)}
    assert schedule.visits_left() == 0


def test_without_a_word_it_is_all():
    assert all(map(WHOLE.blocks(study(3)), study(3).blocks()))


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0"])
def test_a_share_that_cannot_be_is_refused(text):
    with pytest.raises(InputError, match="--shard"):
        parse_shard(text)
