"""Runs tasks on named workers of a Dask scheduler, and collects their results."""

import contextlib
import queue
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any

from distributed import Client, Future
from distributed.client import ClosedClientError

from dragstrip.execution.dask.scheduler import FETCH_S, GONE, Scheduler
from dragstrip.execution.dask.worker_pool import PoolWorker
from dragstrip.execution.executor import AttemptState
from dragstrip.testbed.errors import TestbedError

Get = Callable[[], Any]
"""Returns a task's result. Raises the task's exception, or `Lost`."""
Then = Callable[[PoolWorker, Get], Iterable[AttemptState]]
"""Called with the worker and its result when a task is done."""


class Lost(Exception):
    """Raised for a task that will never have a result."""


class Tasks:
    """Tasks in flight. `token` distinguishes their keys from those of other clients."""

    def __init__(self, client: Client, scheduler: Scheduler, token: str) -> None:
        self._client = client
        self._scheduler = scheduler
        self._token = token
        self._open: dict[str, tuple[Future, PoolWorker, Then]] = {}
        self._done: queue.SimpleQueue[Future] = queue.SimpleQueue()
        self._failed: list[tuple[PoolWorker, Then, Get]] = []
        """Tasks that could not be submitted."""
        self._number = 0

    def key(self, what: str) -> str:
        self._number += 1
        return f"{what}-{self._token}-{self._number}"

    def submit(
        self, worker: PoolWorker, then: Then, task: Callable[..., Any], *args: Any, **options: Any
    ) -> None:
        """Submit a task to a worker; `then` is called with its result. `options` are those of Dask.
        Raises `TestbedError` if the scheduler is gone."""
        options.setdefault("key", self.key(task.__name__))
        try:
            future = self._on(worker, task, *args, **options)
        except ClosedClientError:
            raise TestbedError(GONE) from None
        self._open[future.key] = future, worker, then
        future.add_done_callback(self._done.put)

    def send(
        self, worker: PoolWorker, then: Then, task: Callable[..., Any], large: Any, *rest: Any
    ) -> None:
        """Submit a task whose first argument, `large`, is too large to send through the
        scheduler."""
        try:
            there = self._client.scatter(large, workers=[worker.address], hash=False)
        except (ClosedClientError, OSError, TimeoutError, KeyError, ValueError):
            worker.stale = True  # the worker's process was replaced meanwhile
            return
        except Exception as error:  # the worker's dragstrip does not understand our message
            self._failed.append((worker, then, partial(_raise, error)))
            return
        self.submit(worker, then, task, there, *rest)

    def done(self, seconds: float) -> Iterator[tuple[PoolWorker, Then, Get]]:
        """Yield each task that is done, with a function that returns its result. Wait up to
        `seconds` for the first."""
        failed, self._failed = self._failed, []
        yield from failed
        finished = [f for f in self._finished(0.0 if failed else seconds) if f.key in self._open]
        fetched = self._fetch([f for f in finished if f.status == "finished"])
        for future in finished:
            if known := self._open.pop(future.key, None):  # its worker is not lost meanwhile
                _, worker, then = known
                get = partial(self._result, worker, future)
                if future.key in fetched:
                    get = partial(fetched.pop, future.key)
                yield worker, then, get

    def forget(self, worker: PoolWorker) -> None:
        """Drop the tasks of a worker that will not answer any longer."""
        for key, (_, owner, _) in list(self._open.items()):
            if owner is worker:
                self._drop(key)

    def end(
        self, workers: Iterable[PoolWorker], task: Callable[..., Any], within_s: float
    ) -> Iterator[Any]:
        """Drop all tasks, run `task` once on each worker and yield the results. Skips workers out
        of reach."""
        if self._client.status != "running":
            return
        for key in list(self._open):
            self._drop(key)
        ends = [
            self._on(worker, task, self._token, key=self.key(task.__name__)) for worker in workers
        ]
        deadline = time.monotonic() + within_s
        for end in ends:
            try:
                result = end.result(timeout=max(0.1, deadline - time.monotonic()))
            except Exception:  # whatever it is, the worker's testbeds end with it, or when idle
                continue
            yield result

    def _on(
        self, worker: PoolWorker, task: Callable[..., Any], *args: Any, **options: Any
    ) -> Future:
        pinned = {"workers": [worker.address], "allow_other_workers": False, "pure": False}
        return self._client.submit(task, *args, **pinned, **options)

    def _finished(self, seconds: float) -> list[Future]:
        futures = []
        try:
            futures.append(self._done.get(timeout=max(0.001, seconds)))
            while True:
                futures.append(self._done.get_nowait())
        except queue.Empty:
            return futures

    def _fetch(self, good: Sequence[Future]) -> dict[str, Any]:
        """Fetch several results at once, which takes hardly longer than one; empty if that
        fails."""
        if len(good) < 2:
            return {}

        async def fetch() -> list[Any]:
            values: list[Any] = await self._client.gather(good, asynchronous=True)
            return values

        try:
            values = self._client.sync(fetch, callback_timeout=FETCH_S)
        except Exception:  # `_result` raises each task's own error
            return {}
        return {future.key: value for future, value in zip(good, values, strict=True)}

    def _result(self, worker: PoolWorker, future: Future) -> Any:
        """Fetch one result. Raises `Lost` if the worker died before it sent the result."""
        while future.status in ("finished", "error"):
            try:
                return future.result(timeout=FETCH_S)
            except TimeoutError:
                known = self._scheduler.workers()
                if known is not None and worker.address not in known:
                    raise Lost from None
        raise Lost

    def _drop(self, key: str) -> None:
        """Cancel the task, if the scheduler can still be reached."""
        future, _, _ = self._open.pop(key)
        with contextlib.suppress(ClosedClientError, OSError, TimeoutError):
            future.cancel()


def _raise(error: Exception) -> None:
    raise error
