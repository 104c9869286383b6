"""The executor that makes all visits in worker processes on this machine."""

from collections.abc import Iterator, Mapping, Sequence
from multiprocessing.connection import wait
from pathlib import Path

from dragstrip.execution.by_clock import concurrency_of, session_of
from dragstrip.execution.concurrency import Concurrency
from dragstrip.execution.executor import AttemptState, opened
from dragstrip.execution.host import Host
from dragstrip.execution.orders import SessionFactory
from dragstrip.execution.run import Keep, run
from dragstrip.execution.worker import Worker, end_all
from dragstrip.model.visit import Visit
from dragstrip.schedule.schedule import Attempt, Schedule

__all__ = ["LocalExecutor", "Schedule", "run_here"]


class LocalExecutor:
    """Makes visits on this machine; each parallel block has its own worker.

    `concurrency` decides which blocks run in parallel, by default one at a time. Files of whole
    browsers (NetLogs) go to `artefacts`. `session` opens a worker's session, by default a testbed
    in real time and guests in virtual time. `machine` is this machine's id. `browsers` maps each
    stack to its browser and version.
    """

    def __init__(
        self,
        schedule: Schedule,
        artefacts: Path | None = None,
        *,
        concurrency: Concurrency | None = None,
        session: SessionFactory | None = None,
        machine: str = "",
        browsers: Mapping[str, str] | None = None,
    ) -> None:
        concurrency = concurrency or concurrency_of(schedule.study, 1, ())
        first = concurrency.first_workers(schedule.left)
        self._session = session or session_of(schedule.study, artefacts, first.pages)
        self._host = Host(concurrency, machine)
        self._browsers = browsers or {}
        self._workers = first.workers
        self._busy: dict[Attempt, Worker] = {}
        self._idle: list[Worker] = []
        self._restart: int | None = None

    @property
    def hosts(self) -> Sequence[Host]:
        return [self._host]

    def open(self) -> None:
        """Open the first workers' sessions before any visit, so that opening one disturbs no visit.
        A worker that failed raises when a visit is requested from it."""
        self._idle = [Worker(self._session) for _ in range(self._workers)]
        opening = {worker.connection for worker in self._idle}
        while opening:
            opening.difference_update(wait(opening))

    def begin(self, host: Host, attempt: Attempt) -> None:
        if self._restart not in (None, host.restart):
            self._renew()
            host.stagger()
        self._restart = host.restart
        worker = self._idle.pop() if self._idle else Worker(self._session)
        self._busy[attempt] = worker
        worker.begin(attempt)

    def answers(self, seconds: float | None) -> Iterator[AttemptState]:
        ready = wait([worker.connection for worker in self._busy.values()], seconds)
        for attempt, worker in list(self._busy.items()):
            if worker.connection not in ready:
                continue
            result = worker.answer()
            if result is None:
                continue
            yield AttemptState(host=self._host, attempt=attempt, made=(result,))
            if not worker.go_on():
                self._idle.append(self._busy.pop(attempt))
                yield AttemptState(host=self._host, attempt=attempt, over=True)

    def browser(self, visit: Visit) -> str:
        return self._browsers.get(visit.stack, "")

    def close(self) -> None:
        end_all([*self._idle, *self._busy.values()])

    def _renew(self) -> None:
        """Close all sessions, none of which is busy, and open as many new ones."""
        assert not self._busy
        end_all(self._idle)
        self.open()


def run_here(
    schedule: Schedule,
    keep: Keep,
    artefacts: Path | None = None,
    *,
    concurrency: Concurrency | None = None,
    session: SessionFactory | None = None,
) -> None:
    """Run the schedule on this machine; see `LocalExecutor`."""
    executor = LocalExecutor(schedule, artefacts, concurrency=concurrency, session=session)
    with opened(executor):
        run(schedule, keep, executor)
