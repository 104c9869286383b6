"""Keeps a Dask worker's sessions open between tasks: one for each parallel attempt.

Each session is a separate process that ends when the Dask worker does.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from multiprocessing.connection import wait

from dragstrip.execution.dask.setup import Abandoned, Result, Setup
from dragstrip.execution.orders import MadeVisit
from dragstrip.execution.worker import Worker, end_all
from dragstrip.model.study import Study
from dragstrip.model.visit import OF_BROWSERS
from dragstrip.results.artefacts import artefacts
from dragstrip.schedule.schedule import Attempt
from dragstrip.testbed.workspace import workspace

_IDLE_S = 60.0
"""Seconds that an unused session stays open. Its client may be dead."""
_DEAD_S = 600.0
"""Seconds without a request after which a client counts as dead and its folder is removed."""
_LOOK_S = 1.0


class OpenSessions:
    """The sessions of one study. Calls `close` when its client seems to be dead."""

    def __init__(self, setup: Setup, study: Study, close: Callable[[], object]) -> None:
        self.setup = setup
        self.study = study
        self._give_up = close
        self._resources = ExitStack()
        self.folder = self._resources.enter_context(workspace())
        self._pages: Collection[str] = ()
        self._idle: list[tuple[float, Worker]] = []
        self._used = time.monotonic()
        self._count = 0
        self._restart: int | None = None
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._tidy, daemon=True).start()

    def prepare(self, workers: int, pages: Collection[str]) -> None:
        """Open sessions before the first visit, so that opening one disturbs no visit."""
        self._pages, self._count = pages, workers
        opened = [self._worker() for _ in range(workers)]
        opening = {worker.connection for worker in opened}
        while opening:
            opening.difference_update(wait(opening))
        for worker in opened:
            self._rest(worker)

    def renew(self, restart: int | None) -> None:
        """Replace all sessions if `restart` differs from the current one. None is busy then."""
        with self._renewing:
            before, self._restart = self._restart, restart
            if before in (None, restart):
                return
            with self._lock:
                idle, self._idle = [worker for _, worker in self._idle], []
            end_all(idle)
            self.prepare(self._count, self._pages)

    def make(self, attempt: Attempt, given_up: Callable[[], bool]) -> Result:
        """Make an attempt's visits in a free session. Raises `TestbedError`, `InputError`, and
        `Abandoned` once `given_up` returns true."""
        self._used = time.monotonic()
        worker = self._take()
        visits: list[MadeVisit] = []
        try:
            worker.begin(attempt)
            while len(visits) < attempt.visits:
                self._used = time.monotonic()
                if wait([worker.connection], _LOOK_S):
                    visit = worker.answer()
                    if visit is not None:
                        visits.append(visit)
                        worker.go_on()
                elif given_up():
                    raise Abandoned
        except BaseException:
            end_all([worker])
            raise
        self._rest(worker)
        self._used = time.monotonic()
        return Result(made=visits, files=self._files(visits))

    def close(self) -> dict[str, bytes]:
        """End all sessions and return the files of whole browsers (NetLogs), keyed by path in the
        capsule."""
        self._closed.set()
        with self._lock:
            idle, self._idle = [worker for _, worker in self._idle], []
        end_all(idle)
        left = {
            str(file.relative_to(self.folder)): file.read_bytes()
            for file in (self.folder / OF_BROWSERS).glob("*")
        }
        self._resources.close()
        return left

    def _worker(self) -> Worker:
        return Worker(self.setup.session(self.study, self.folder, self._pages))

    def _take(self) -> Worker:
        with self._lock:
            if self._idle:
                return self._idle.pop()[1]
        return self._worker()

    def _rest(self, worker: Worker) -> None:
        with self._lock:
            self._idle.append((time.monotonic(), worker))

    def _files(self, visits: Sequence[MadeVisit]) -> dict[str, bytes]:
        files = {}
        for visit, _ in visits:
            for artefact in artefacts(self.folder, visit):
                files[str(artefact.path.relative_to(self.folder))] = artefact.path.read_bytes()
                artefact.path.unlink()
        return files

    def _tidy(self) -> None:
        while not self._closed.wait(_IDLE_S / 4):
            limit = time.monotonic() - _IDLE_S
            with self._lock:
                stale = [worker for since, worker in self._idle if since < limit]
                self._idle = [(since, worker) for since, worker in self._idle if since >= limit]
            end_all(stale)
            kept = any((self.folder / OF_BROWSERS).glob("*"))  # which a live client fetches
            if time.monotonic() > self._used + _DEAD_S and not kept:
                self._give_up()
