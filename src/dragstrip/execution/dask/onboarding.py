"""Prepares a new worker for its first visit: opens the study on it, judges and measures its
machine, and opens its sessions."""

from collections.abc import Callable, Iterable

from msgspec import structs

from dragstrip.execution.concurrency import Concurrency
from dragstrip.execution.dask import worker_tasks
from dragstrip.execution.dask.machine_match import MachineMatch
from dragstrip.execution.dask.page_sender import PageSender
from dragstrip.execution.dask.setup import OpenedWorker, Setup
from dragstrip.execution.dask.tasks import Get, Tasks
from dragstrip.execution.dask.worker_health import WorkerHealth
from dragstrip.execution.dask.worker_pool import PoolMachine, PoolWorker, WorkerPool
from dragstrip.execution.executor import AttemptState
from dragstrip.execution.host import Host
from dragstrip.model.calibration import Calibration
from dragstrip.results.aa_control import AAControl
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.schedule.schedule import Schedule

MachineConcurrency = Callable[[Fingerprint, int], Concurrency]
"""Returns the rule for parallel blocks on a machine, given its fingerprint and the number of
attempts it has room for."""


class Onboarding:
    """Prepares new workers. Calls `admitted` with each machine that may make visits from now on."""

    def __init__(
        self,
        setup: Setup,
        schedule: Schedule,
        pool: WorkerPool,
        tasks: Tasks,
        health: WorkerHealth,
        match: MachineMatch,
        *,
        concurrency: MachineConcurrency,
        admitted: Callable[[Fingerprint], None],
    ) -> None:
        self._setup = setup
        self._schedule = schedule
        self._pool = pool
        self._tasks = tasks
        self._health = health
        self._match = match
        self._concurrency = concurrency
        self._admitted = admitted
        self._pages = PageSender(setup.study, pool, tasks, health, self.open)

    def open(self, worker: PoolWorker) -> None:
        self._tasks.send(worker, self._opened, worker_tasks.open_study, self._setup)

    def lost(self, worker: PoolWorker) -> None:
        """Give the tasks of a worker that left (sending pages, measuring) to another worker."""
        self._pages.lost(worker)
        self._judge()
        self._measure_new()

    def _opened(self, worker: PoolWorker, get: Get) -> Iterable[AttemptState]:
        opened: OpenedWorker | None = self._health.result(worker, get)
        if opened is not None:
            worker.fingerprint, worker.lacks = opened.fingerprint, opened.lacks
            worker.slots, worker.ahead = opened.slots, int(self._setup.independent)
        if opened is not None and worker.accepted:
            self._assign(worker)
        else:
            self._judge()
        return ()

    def _judge(self) -> None:
        """Accept or refuse the new workers as soon as all have sent their fingerprints. All are
        needed because the most common machine is the model for the others."""
        workers = list(self._pool.workers.values())
        if any(not w.fingerprint and not w.refused for w in workers):
            return
        candidates = [w for w in workers if not w.accepted and not w.refused]
        among = [w.fingerprint for w in candidates if w.fingerprint]
        for worker in candidates:
            assert worker.fingerprint
            if reason := self._match.refusal(worker.fingerprint, among):
                self._health.refuse(worker, reason)
            else:
                worker.accepted = True
                self._assign(worker)

    def _assign(self, worker: PoolWorker) -> None:
        """Let a worker make visits once it has all pages and its machine's link is measured."""
        if worker.lacks:
            self._pages.wanted_by(worker)
            return
        machine = self._pool.machine_of(worker)
        machine.workers.append(worker)
        if machine.host:
            self._make_room(machine)
            self._prepare(worker, machine.host)
        self._measure_new()

    def _measure_new(self) -> None:
        """Start a measurement on each machine that needs one, by one of its workers."""
        for machine in self._pool.machines.values():
            if not machine.host and machine.workers and machine.measuring not in machine.workers:
                self._measure(machine.workers[0], machine)

    def _measure(self, worker: PoolWorker, machine: PoolMachine) -> None:
        machine.measuring = worker
        if self._setup.calibrate is None:
            self._control(worker, machine)
            return

        def then(worker: PoolWorker, get: Get) -> Iterable[AttemptState]:
            calibration: Calibration | None = self._health.result(worker, get)
            if calibration is not None:
                machine.fingerprint = structs.replace(machine.fingerprint, calibration=calibration)
                self._measured(worker, machine, calibration)
            self._measure_new()
            return ()

        self._tasks.submit(worker, then, worker_tasks.calibrate, self._setup.token)

    def _measured(self, worker: PoolWorker, machine: PoolMachine, calibration: Calibration) -> None:
        if calibration.good:
            self._control(worker, machine)
            return
        bad = next(r for r in calibration.readings if not r.good)
        self._refuse_all(machine, f"its link is out of tolerance: {bad.describe()}")

    def _control(self, worker: PoolWorker, machine: PoolMachine) -> None:
        """Run rounds of the A/A control until the machine passes or is refused."""
        if self._setup.aa_control is None:
            self._take_on(machine)
            return

        def then(worker: PoolWorker, get: Get) -> Iterable[AttemptState]:
            control: AAControl | None = self._health.result(worker, get)
            if control is not None:
                whole = control.after(machine.fingerprint.aa_control)
                machine.fingerprint = structs.replace(machine.fingerprint, aa_control=whole)
                if whole.refusal:
                    self._refuse_all(machine, whole.refusal)
                elif whole.passed:
                    self._take_on(machine)
                else:
                    self._control(worker, machine)
            self._measure_new()
            return ()

        before = machine.fingerprint.aa_control
        seed = len(before.rounds) if before else 0
        self._tasks.submit(worker, then, worker_tasks.aa_control, self._setup.token, seed)

    def _refuse_all(self, machine: PoolMachine, reason: str) -> None:
        for one in list(machine.workers):
            self._health.refuse(one, reason)

    def _take_on(self, machine: PoolMachine) -> None:
        self._admitted(machine.fingerprint)
        host = self._make_room(machine)
        for worker in machine.workers:
            self._prepare(worker, host)

    def _make_room(self, machine: PoolMachine) -> Host:
        """Return the machine as a host whose rule for parallel blocks allows as many attempts as
        its workers have room for."""
        room = sum(worker.room for worker in machine.workers)
        concurrency = self._concurrency(machine.fingerprint, room)
        if machine.host:
            machine.host.concurrency = concurrency
        else:
            machine.host = Host(concurrency, machine.fingerprint.machine.id, slots=0)
        return machine.host

    def _prepare(self, worker: PoolWorker, host: Host) -> None:
        first = host.concurrency.first_workers(self._schedule.left)
        workers = min(first.workers, worker.slots)
        if not workers:
            self._pool.ready_now(worker, host)
            return

        def then(worker: PoolWorker, get: Get) -> Iterable[AttemptState]:
            self._health.result(worker, get)
            if not worker.refused:
                self._pool.ready_now(worker, host)
            return ()

        self._tasks.submit(
            worker, then, worker_tasks.prepare, self._setup.token, workers, first.pages
        )
