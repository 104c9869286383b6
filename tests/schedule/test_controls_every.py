"""Controls in some blocks only: the others are complete without them, wherever blocks are
counted."""

import pytest
import simulate
from msgspec import structs

from dragstrip.conduct.merge import merge
from dragstrip.model.study import Study
from dragstrip.model.visit import Reason
from dragstrip.results.blocks import trials
from dragstrip.results.capsule import Capsule
from dragstrip.schedule.schedule import Schedule
from dragstrip.study.controls import HELD, SAME, controls_of
from dragstrip.watch.tally import StudyTally

EVERY, RUNS = 4, 9
STACKS = {"h1", "h2", "h3"}


def study(every: int = EVERY, runs: int = RUNS) -> Study:
    whole = simulate.study(runs=runs)
    return structs.replace(whole, controls=controls_of(whole.stacks), controls_every=every)


def quiet(of: Study):
    """The study's visits, none of them invalid."""
    return list(simulate.visits(of, invalid=0.0, timeouts=0.0))


def write(folder, of: Study, visits):
    with Capsule.create(folder, simulate.manifest(of)) as capsule:
        for visit in visits:
            capsule.append(visit)
    return folder


def test_each_nth_block_of_a_cell_has_them_and_is_as_it_was():
    all_of_them = {b.id: b for b in study(every=1).blocks()}
    for block in study().blocks():
        if block.index % EVERY:
            assert set(block.order) == STACKS
        else:
            assert set(block.order) == {*STACKS, SAME, HELD}
            assert block == all_of_them[block.id]


def test_more_runs_keep_the_blocks_there_are():
    assert list(study(runs=30).blocks())[:RUNS] == list(study().blocks())


@pytest.mark.parametrize("cut", [0, 1, 5, 7, 20])
def test_a_cut_study_goes_on_where_it_was(cut):
    visits = quiet(study())
    schedule = Schedule(study(), visits[:cut])
    assert schedule.visits_left() == len(visits) - cut
    made = []
    while attempt := schedule.take():
        for stack in attempt.stacks:
            made += [v for v in visits if (v.block, v.stack) == (attempt.block.id, stack)]
            schedule.add(made[-1])
    assert {v.key for v in (*visits[:cut], *made)} == {v.key for v in visits}
    assert len(made) == len(visits) - cut


def test_all_blocks_count():
    found = trials(quiet(study()), sorted(STACKS))
    assert len(found) == RUNS
    assert all(trial.counts for trial in found)


def test_an_invalid_control_still_costs_its_block():
    visits = quiet(study())
    spoilt = next(v for v in visits if v.stack == SAME)
    visits = [
        structs.replace(v, reasons=(Reason("overloaded", "made up"),)) if v is spoilt else v
        for v in visits
    ]
    uncounted = [t.block for t in trials(visits, sorted(STACKS)) if not t.counts]
    assert uncounted == [spoilt.block]


def test_the_live_page_counts_all_blocks_and_no_visit_is_left():
    tally = StudyTally(study())
    for visit in quiet(study()):
        tally.add(visit)
    assert tally.cell(0).counted == RUNS
    assert not tally.cell(0).running
    assert tally.standing().left == 0


def test_of_two_copies_of_a_block_the_finished_one_counts(tmp_path):
    """The other copy has more visits, because it began a second attempt."""
    visits = quiet(study())
    block = next(b.id for b in study().blocks() if b.index % EVERY)
    finished = [v for v in visits if v.block == block]
    begun = [*finished, structs.replace(finished[0], attempt=1)]
    parts = [write(tmp_path / "a", study(), begun), write(tmp_path / "b", study(), finished)]
    merge(parts, tmp_path / "merged")
    assert list(Capsule.open(tmp_path / "merged").visits()) == finished


@pytest.mark.parametrize("every", [1, 2, 4, 40])
def test_visits_are_counted_before_they_are_made(every):
    of = study(every, runs=40)
    blocks = list(of.blocks())
    assert sum(len(b.order) for b in blocks) == 40 * of.visits_per_block
    assert all(len(b.order) == of.visits_of(b.id) for b in blocks)
