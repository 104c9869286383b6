"""Each restart has testbeds of its own, and a block that is made again stays with its own."""

import pytest
from msgspec import structs

import made
from dragstrip.results.capsule import Capsule
from made_session import run_in, slow


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_testbed_serves_two_restarts(tmp_path, jobs):
    study = structs.replace(slow(made.study(runs=7, pages=("a", "b"))), restarts=3)
    run_in(tmp_path, study, jobs)
    restarts = {block.id: study.restart_of(block) for block in study.blocks()}
    served: dict[str, set[int]] = {}
    visits = list(Capsule.open(tmp_path).visits())
    for visit in visits:
        served.setdefault(visit.testbed, set()).add(restarts[visit.block])
    assert all(len(own) == 1 for own in served.values())
    assert 3 <= len(served) <= 3 * jobs
    assert {visit.block for visit in visits} == restarts.keys()
    assert any(visit.attempt for visit in visits), "some blocks had to be made again"
    order = [restarts[visit.block] for visit in visits]
    assert order == sorted(order)


def test_one_start_serves_all_where_none_is_asked_for(tmp_path):
    run_in(tmp_path, slow(made.study(runs=4)), 1)
    assert len({visit.testbed for visit in Capsule.open(tmp_path).visits()}) == 1
