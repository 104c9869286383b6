"""Short attempts share a task of a cluster."""

from collections.abc import Callable

import pytest

import made
from dragstrip.execution.dask import worker_tasks
from dragstrip.execution.dask.setup import Abandoned, Result
from dragstrip.execution.dask.worker_pool import PoolWorker, WorkerPool
from dragstrip.execution.guest.concurrency import GuestConcurrency
from dragstrip.execution.host import Host
from dragstrip.schedule.schedule import Attempt, Schedule
from dragstrip.testbed.errors import TestbedError

STUDY = made.study(runs=6)


def attempts() -> list[Attempt]:
    schedule = Schedule(STUDY)
    return [taken for _ in range(6) if (taken := schedule.take())]


class BreaksAt:
    def __init__(self, number: int, error: Exception) -> None:
        self._left = number
        self._error = error

    def renew(self, restart: int | None) -> None:
        pass

    def make(self, attempt: Attempt, given_up: Callable[[], bool]) -> Result:
        if self._left == 0:
            raise self._error
        self._left -= 1
        return Result(made=[], files={})


def test_attempts_before_one_that_breaks_are_kept(monkeypatch):
    monkeypatch.setitem(worker_tasks._studies, "token", BreaksAt(2, TestbedError("no room")))
    assert len(worker_tasks.make("token", "key", None, attempts()).results) == 2


@pytest.mark.parametrize("error", [TestbedError("no room"), Abandoned()])
def test_a_task_whose_first_attempt_breaks_says_why(error, monkeypatch):
    monkeypatch.setitem(worker_tasks._studies, "token", BreaksAt(0, error))
    with pytest.raises(type(error)):
        worker_tasks.make("token", "key", None, attempts())


def ready(pool: WorkerPool) -> PoolWorker:
    worker = pool.join("tcp://one")
    worker.slots, worker.ahead = 1, 1
    pool.ready_now(worker, Host(GuestConcurrency(STUDY, worker.room), "m", slots=0))
    return worker


def test_tasks_grow_until_they_last_long_enough():
    pool = WorkerPool()
    worker = ready(pool)
    grown = []
    for _ in range(6):
        pool.pace(worker, attempt_s=0.02)
        grown.append(worker.together)
    assert grown == [2, 4, 8, 12, 12, 12]
    assert worker.host
    assert worker.host.slots == worker.room == 24
    assert worker.host.concurrency.jobs == 24


def test_long_attempts_stay_alone_and_room_shrinks_again():
    pool = WorkerPool()
    worker = ready(pool)
    pool.pace(worker, attempt_s=0.001)
    pool.pace(worker, attempt_s=5.0)
    assert worker.together == 1
    assert worker.host
    assert worker.host.slots == 2


def test_a_worker_that_leaves_takes_its_room_with_it():
    pool = WorkerPool()
    worker = ready(pool)
    host = worker.host
    pool.pace(worker, attempt_s=0.001)
    pool.leave(worker)
    pool.pace(worker, attempt_s=0.001)
    assert host
    assert host.slots == 0
