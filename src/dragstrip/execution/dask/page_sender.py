"""Sends workers the pages that they lack. One worker gets pages at a time, because the next worker
may share its disk."""

from collections import deque
from collections.abc import Callable, Iterable

from dragstrip.execution.dask import worker_tasks
from dragstrip.execution.dask.tasks import Get, Tasks
from dragstrip.execution.dask.worker_health import WorkerHealth
from dragstrip.execution.dask.worker_pool import PoolWorker, WorkerPool
from dragstrip.execution.executor import AttemptState
from dragstrip.model.study import Study


class PageSender:
    """Sends pages to a worker. Then `again` opens the study on the worker again, and the worker
    reports which pages it still lacks."""

    def __init__(
        self,
        study: Study,
        pool: WorkerPool,
        tasks: Tasks,
        health: WorkerHealth,
        again: Callable[[PoolWorker], None],
    ) -> None:
        self._study = study
        self._pool = pool
        self._tasks = tasks
        self._health = health
        self._again = again
        self._lacking: deque[PoolWorker] = deque()

    def wanted_by(self, worker: PoolWorker) -> None:
        self._lacking.append(worker)
        if len(self._lacking) == 1:
            self._send(worker)

    def lost(self, worker: PoolWorker) -> None:
        if worker in self._lacking:
            self._over()

    def _send(self, worker: PoolWorker) -> None:
        digest, *rest = worker.lacks
        worker.lacks = tuple(rest)
        page = next(p for p in self._study.pages if p.digest == digest)
        self._tasks.send(
            worker, self._sent, worker_tasks.store_page, page.path.read_bytes(), digest
        )

    def _sent(self, worker: PoolWorker, get: Get) -> Iterable[AttemptState]:
        stored = self._health.result(worker, get)
        if stored and worker.lacks:
            self._send(worker)
        else:
            self._over()
        return ()

    def _over(self) -> None:
        """Open the study again on all waiting workers: they may share the disk that now has the
        pages."""
        there = self._pool.workers
        again = [w for w in self._lacking if not w.refused and w.address in there]
        self._lacking.clear()
        for worker in again:
            self._again(worker)
