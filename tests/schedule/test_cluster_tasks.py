"""What a cluster's tasks carry: several attempts, restarts, and code that a worker may lack."""

from pathlib import Path

import pytest
from msgspec import structs

import made
from dragstrip.execution.dask.tasks import Tasks
from dragstrip.model.study import Study
from dragstrip.results.capsule import Capsule
from dragstrip.schedule.schedule import Attempt
from made_cluster import run_on, sendable
from made_session import run_in


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return sendable(made.study(runs=40), tmp_path)


def visits(folder: Path) -> list[tuple[str, int, str, str]]:
    found = Capsule.open(folder).as_made()
    return sorted((v.block, v.attempt, v.stack, v.verdict) for v in found)


def test_short_attempts_share_tasks_and_give_the_visits_of_a_serial_run(
    study, tmp_path, monkeypatch, cluster
):
    sizes: list[int] = []
    submit = Tasks.submit

    def counted(tasks: Tasks, worker, then, task, *args, **options) -> None:
        if task.__name__ == "make":
            attempts: list[Attempt] = args[-1]
            sizes.append(len(attempts))
        submit(tasks, worker, then, task, *args, **options)

    monkeypatch.setattr(Tasks, "submit", counted)
    run_on(cluster.address, tmp_path / "c", study, pause_s=0.0, independent=True)
    run_in(tmp_path / "s", study, 1)
    assert visits(tmp_path / "c") == visits(tmp_path / "s")
    assert max(sizes) > 1, "how many depends on how long the machine takes"


def test_each_restart_has_its_own_testbed_on_every_worker(study, tmp_path, cluster):
    of = structs.replace(study, runs=12, restarts=3)
    run_on(cluster.address, tmp_path / "c", of, pause_s=0.02)
    restarts = {block.id: of.restart_of(block) for block in of.blocks()}
    of_start: dict[str, set[tuple[str, int]]] = {}
    for visit in Capsule.open(tmp_path / "c").as_made():
        key = visit.machine, restarts[visit.block]
        of_start.setdefault(visit.testbed, set()).add(key)
    assert all(len(keys) == 1 for keys in of_start.values()), "no testbed outlasts its restart"
    assert {restart for [(_, restart)] in of_start.values()} == {0, 1, 2}


def test_a_worker_that_does_not_understand_us_makes_no_visits_and_says_why(
    study, tmp_path, cluster
):
    said: list[str] = []
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "made_cluster.py").write_text("")
    with cluster.one_more(PYTHONPATH=str(stranger)) as worker:
        run_on(cluster.address, tmp_path / "c", study, pause_s=0.02, tell=said.append)
    [sentence] = said
    assert "makes no visits" in sentence
    made_by = {v.machine for v in Capsule.open(tmp_path / "c").as_made()}
    assert made_by
    assert f"m{worker.pid}" not in made_by
