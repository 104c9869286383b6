"""Refuses workers that turn out to be unable to make visits."""

from collections.abc import Callable
from typing import Any

from dragstrip.execution.dask.setup import Abandoned, NotOpen
from dragstrip.execution.dask.tasks import Get, Lost
from dragstrip.execution.dask.worker_pool import PoolWorker, WorkerPool
from dragstrip.model.errors import InputError
from dragstrip.schedule.schedule import Attempt
from dragstrip.testbed.errors import TestbedError

_TRIES = 3
"""Number of machines on which an attempt must fail before dragstrip blames the attempt and not the
machines."""


class WorkerHealth:
    def __init__(self, pool: WorkerPool, say: Callable[[str], None]) -> None:
        self._pool = pool
        self._say = say
        self._broke: dict[Attempt, int] = {}
        self._waiting_told = False

    def result(self, worker: PoolWorker, get: Get, attempt: Attempt | None = None) -> Any:
        """Return the task's result; None if the task was lost or failed. A worker whose task fails
        is refused.

        Raises `InputError` from an attempt, and `TestbedError` for an attempt that failed on
        `_TRIES` machines.
        """
        try:
            return get()
        except NotOpen:
            worker.stale = True
        except (Lost, Abandoned):
            pass
        except Exception as error:
            foreseen = isinstance(error, TestbedError | InputError)
            reason = str(error) if foreseen else repr(error)
            if attempt:
                if isinstance(error, InputError):
                    raise
                self._broke[attempt] = self._broke.get(attempt, 0) + 1
                if self._broke[attempt] == _TRIES:
                    raise TestbedError(f"block {attempt.block.id}: {reason}") from error
            self.refuse(worker, reason)
        return None

    def refuse(self, worker: PoolWorker, reason: str) -> None:
        worker.refused = reason
        self._pool.dismiss(worker)
        name = worker.fingerprint.machine.id if worker.fingerprint else "?"
        self._say(f"machine {name} at {worker.address} makes no visits: {reason}")

    def check_hope(self) -> None:
        """Raise `TestbedError` if there are workers and all are refused."""
        workers = self._pool.workers.values()
        if workers and all(worker.refused for worker in workers):
            reasons = dict.fromkeys(worker.refused for worker in workers)
            raise TestbedError(f"no machine of the cluster can make visits: {'; '.join(reasons)}")
        if not workers and not self._waiting_told:
            self._waiting_told = True
            self._say("the cluster has no workers now; waiting for some")
