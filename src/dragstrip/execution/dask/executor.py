"""The executor that uses the workers of a Dask cluster."""

import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from math import inf

from dragstrip.execution.by_clock import concurrency_of, session_of
from dragstrip.execution.concurrency import Concurrency, most_jobs
from dragstrip.execution.dask import worker_tasks
from dragstrip.execution.dask.aa_control import aa_control
from dragstrip.execution.dask.connect import connected
from dragstrip.execution.dask.machine_match import MachineMatch
from dragstrip.execution.dask.onboarding import MachineConcurrency, Onboarding
from dragstrip.execution.dask.scheduler import Scheduler
from dragstrip.execution.dask.setup import RESOURCE, Batch, Setup
from dragstrip.execution.dask.tasks import Get, Tasks
from dragstrip.execution.dask.worker_health import WorkerHealth
from dragstrip.execution.dask.worker_pool import PoolWorker, WorkerPool
from dragstrip.execution.executor import AttemptState
from dragstrip.execution.host import Host
from dragstrip.execution.inventory import fingerprint
from dragstrip.model.calibration import Calibration
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.schedule.schedule import Attempt, Schedule
from dragstrip.testbed.calibrate.measure import BRIEF
from dragstrip.testbed.calibrate.measure import calibrate as calibrate_link

_LOOK_S = 1.0
"""How often the scheduler is asked for its workers."""
_CLOSE_S = 20.0


class DaskExecutor:
    """Assigns each attempt to a worker with room for it, so that each machine's limit on parallel
    blocks holds.

    If attempts do not disturb each other, some are sent to a worker in advance, and short ones
    share a task. If a worker is lost, its attempts return to the schedule. If the worker comes back
    later, its results are ignored.
    """

    def __init__(
        self,
        address: str,
        setup: Setup,
        schedule: Schedule,
        capsule: Capsule,
        match: MachineMatch,
        *,
        concurrency: MachineConcurrency,
        said: Callable[[str], None],
    ) -> None:
        self._address = address
        self._setup = setup
        self._schedule = schedule
        self._capsule = capsule
        self._match = match
        self._concurrency = concurrency
        self._said = said
        self._opened = ExitStack()
        self._pool = WorkerPool()
        self._begun: dict[PoolWorker, list[Attempt]] = {}
        """Attempts that were begun but not yet submitted, by worker."""
        self._looked = 0.0

    @property
    def hosts(self) -> Sequence[Host]:
        return self._pool.hosts

    def open(self) -> None:
        """Connect to the scheduler. Workers may join at any time after that. Raises as `connected`
        does."""
        client = self._opened.enter_context(connected(self._address, self._said))
        self._scheduler = Scheduler(client)
        self._tasks = Tasks(client, self._scheduler, self._setup.token)
        self._health = WorkerHealth(self._pool, self._said)
        self._onboarding = Onboarding(
            self._setup,
            self._schedule,
            self._pool,
            self._tasks,
            self._health,
            self._match,
            concurrency=self._concurrency,
            admitted=self._capsule.admitted,
        )
        self._opened.callback(self._close_sessions)

    def browser(self, visit: Visit) -> str:
        return self._pool.machines[visit.machine].fingerprint.browsers.get(visit.stack, "")

    def begin(self, host: Host, attempt: Attempt) -> None:
        worker = self._pool.free(host)
        worker.running.add(attempt)
        self._begun.setdefault(worker, []).append(attempt)

    def answers(self, seconds: float | None) -> Iterator[AttemptState]:
        self._submit()
        deadline = time.monotonic() + (inf if seconds is None else seconds)
        changed = False
        while not changed:
            if time.monotonic() > self._looked + _LOOK_S:
                before = self._pool.ready
                yield from self._look()
                changed = self._pool.ready != before
            patience = min(_LOOK_S, deadline - time.monotonic())
            for worker, then, get in self._tasks.done(0.0 if changed else patience):
                changed = True
                yield from then(worker, get)
            changed = changed or time.monotonic() >= deadline

    def close(self) -> None:
        self._opened.close()

    def _close_sessions(self) -> None:
        """Close the sessions of all workers that can be reached."""
        accepted = [worker for worker in self._pool.workers.values() if worker.accepted]
        for left in self._tasks.end(accepted, worker_tasks.close, _CLOSE_S):
            self._store(left)

    def _submit(self) -> None:
        begun, self._begun = self._begun, {}
        for worker, attempts in begun.items():
            assert worker.host
            restart = worker.host.restart
            for first in range(0, len(attempts), worker.together):
                self._make(worker, restart, attempts[first : first + worker.together])

    def _make(self, worker: PoolWorker, restart: int | None, attempts: Sequence[Attempt]) -> None:
        key = self._tasks.key("attempt")

        def then(worker: PoolWorker, get: Get) -> Iterable[AttemptState]:
            return self._made(worker, attempts, get)

        args = (self._setup.token, key, restart, attempts)
        self._tasks.submit(worker, then, worker_tasks.make, *args, key=key, resources={RESOURCE: 1})

    def _made(
        self, worker: PoolWorker, attempts: Sequence[Attempt], get: Get
    ) -> Iterator[AttemptState]:
        host = worker.host
        assert host
        worker.running.difference_update(attempts)
        batch: Batch | None = self._health.result(worker, get, attempts[0])
        results = batch.results if batch else []
        if batch and self._setup.independent:
            self._pool.pace(worker, batch.took_s / len(results))
        for attempt, result in zip(attempts, results, strict=False):
            self._store(result.files)
            yield AttemptState(host=host, attempt=attempt, made=result.made, over=True)
        for attempt in attempts[len(results) :]:
            yield AttemptState(host=host, attempt=attempt, over=True)

    def _look(self) -> Iterator[AttemptState]:
        """Compare the scheduler's workers with the known ones; add new workers and give up lost
        ones."""
        self._looked = time.monotonic()
        known = self._scheduler.workers()
        if known is None:
            return
        for worker in list(self._pool.workers.values()):
            if worker.stale or worker.address not in known:
                yield from self._lose(worker)
        for address in known:
            if address not in self._pool.workers:
                self._onboarding.open(self._pool.join(address))
        self._health.check_hope()

    def _lose(self, worker: PoolWorker) -> Iterator[AttemptState]:
        """Give up a worker that died, fell silent or restarted, and return its attempts."""
        self._tasks.forget(worker)
        lost, host = list(worker.running), worker.host
        self._pool.leave(worker)
        for attempt in lost:
            assert host
            yield AttemptState(host=host, attempt=attempt, over=True)
        self._onboarding.lost(worker)

    def _store(self, files: dict[str, bytes]) -> None:
        for name, data in files.items():
            target = self._capsule.path / name
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(data)


def dask_executor(
    address: str,
    capsule: Capsule,
    schedule: Schedule,
    *,
    jobs: int | None,
    admit_others: bool,
    calibrate: bool | None,
    said: Callable[[str], None],
) -> DaskExecutor:
    """Return the executor that makes a study's visits on a cluster. `jobs` is the number of
    parallel blocks per machine; None lets each machine decide. Raises `InputError` if the options
    contradict each other."""
    study = schedule.study
    if study.clock.virtual and calibrate:
        raise InputError("--calibrate measures the link in real time: omit it with --virtual")
    measures = calibrate is not False and not study.clock.virtual
    setup = Setup(
        token=secrets.token_hex(6),
        study=study,
        session=session_of,
        fingerprint=fingerprint,
        calibrate=measured if measures else None,
        aa_control=aa_control if measures else None,
        most=most_attempts,
        independent=study.clock.virtual and jobs is None,
    )
    earlier = [one for start in capsule.manifest.starts for one in start.admitted]

    def concurrency(found: Fingerprint, slots: int) -> Concurrency:
        return concurrency_of(study, jobs or slots, (), cores=found.machine.cores)

    return DaskExecutor(
        address,
        setup,
        schedule,
        capsule,
        MachineMatch(study.clock, earlier, admit_others=admit_others),
        concurrency=concurrency,
        said=said,
    )


def measured(study: Study) -> Calibration:
    """Calibrate this machine's link for the study's networks. Raises `TestbedError`."""
    return calibrate_link(study.networks, effort=BRIEF)


def most_attempts(study: Study) -> int:
    """Return how many attempts this machine has room for."""
    return most_jobs(study.clock)
