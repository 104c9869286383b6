"""From a worker that appears to one that makes visits: opened, judged, measured, prepared."""

from collections.abc import Iterable

from msgspec import structs

from dragstrip.cluster import chores
from dragstrip.cluster.crew import Crew, CrewMachine, CrewWorker
from dragstrip.cluster.fitness import Fitness
from dragstrip.cluster.gate import Gate
from dragstrip.cluster.owner import Owner
from dragstrip.cluster.pages import PageSender
from dragstrip.cluster.setup import OpenedWorker, Setup
from dragstrip.cluster.tasks import Get, Tasks
from dragstrip.model.calibration import Calibration
from dragstrip.results.aa_control import AAControl
from dragstrip.schedule.executor import AttemptState
from dragstrip.schedule.host import Host


class Enlisting:
    def __init__(
        self, setup: Setup, crew: Crew, tasks: Tasks, fitness: Fitness, gate: Gate, owner: Owner
    ) -> None:
        self._setup = setup
        self._crew = crew
        self._tasks = tasks
        self._fitness = fitness
        self._gate = gate
        self._owner = owner
        self._pages = PageSender(setup.study, crew, tasks, fitness, self.open)

    def open(self, worker: CrewWorker) -> None:
        self._tasks.send(worker, self._opened, chores.open_bench, self._setup)

    def lost(self, worker: CrewWorker) -> None:
        """It has left the crew; what it was doing for others is somebody else's now."""
        self._pages.lost(worker)
        self._judge()
        self._measure_new()

    def _opened(self, worker: CrewWorker, get: Get) -> Iterable[AttemptState]:
        opened: OpenedWorker | None = self._fitness.result(worker, get)
        if opened is not None:
            worker.fingerprint, worker.lacks = opened.fingerprint, opened.lacks
            worker.slots, worker.ahead = opened.slots, int(self._setup.independent)
        if opened is not None and worker.accepted:
            self._seat(worker)
        else:
            self._judge()
        return ()

    def _judge(self) -> None:
        """Once it is known what all are, for most of them decide what others must be like."""
        workers = list(self._crew.workers.values())
        if any(not w.fingerprint and not w.refused for w in workers):
            return
        candidates = [w for w in workers if not w.accepted and not w.refused]
        among = [w.fingerprint for w in candidates if w.fingerprint]
        for worker in candidates:
            assert worker.fingerprint
            if reason := self._gate.refusal(worker.fingerprint, among):
                self._fitness.refuse(worker, reason)
            else:
                worker.accepted = True
                self._seat(worker)

    def _seat(self, worker: CrewWorker) -> None:
        """It may make visits; as soon as it has all pages, and its machine's link is measured."""
        if worker.lacks:
            self._pages.wanted_by(worker)
            return
        machine = self._crew.machine_of(worker)
        machine.workers.append(worker)
        if machine.host:
            self._make_room(machine)
            self._prepare(worker, machine.host)
        self._measure_new()

    def _measure_new(self) -> None:
        """By one worker of each machine that nobody measures."""
        for machine in self._crew.machines.values():
            if not machine.host and machine.workers and machine.measuring not in machine.workers:
                self._measure(machine.workers[0], machine)

    def _measure(self, worker: CrewWorker, machine: CrewMachine) -> None:
        machine.measuring = worker
        if self._setup.calibrate is None:
            self._control(worker, machine)
            return

        def then(worker: CrewWorker, get: Get) -> Iterable[AttemptState]:
            found: Calibration | None = self._fitness.result(worker, get)
            if found is not None:
                machine.fingerprint = structs.replace(machine.fingerprint, calibration=found)
                self._measured(worker, machine, found)
            self._measure_new()
            return ()

        self._tasks.submit(worker, then, chores.calibrate, self._setup.token)

    def _measured(self, worker: CrewWorker, machine: CrewMachine, found: Calibration) -> None:
        if found.good:
            self._control(worker, machine)
            return
        bad = next(r for r in found.readings if not r.good)
        self._refuse_all(machine, f"its link is out of tolerance: {bad.describe()}")

    def _control(self, worker: CrewWorker, machine: CrewMachine) -> None:
        """Rounds of the A/A control, until the machine passes or is refused."""
        if self._setup.aa_control is None:
            self._take_on(machine)
            return

        def then(worker: CrewWorker, get: Get) -> Iterable[AttemptState]:
            found: AAControl | None = self._fitness.result(worker, get)
            if found is not None:
                whole = found.after(machine.fingerprint.aa_control)
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
        self._tasks.submit(worker, then, chores.aa_control, self._setup.token, seed)

    def _refuse_all(self, machine: CrewMachine, reason: str) -> None:
        for one in list(machine.workers):
            self._fitness.refuse(one, reason)

    def _take_on(self, machine: CrewMachine) -> None:
        self._owner.admitted(machine.fingerprint)
        host = self._make_room(machine)
        for worker in machine.workers:
            self._prepare(worker, host)

    def _make_room(self, machine: CrewMachine) -> Host:
        """The machine's own rule, for as many attempts as its workers have room for."""
        room = sum(worker.room for worker in machine.workers)
        admission = self._owner.admission(machine.fingerprint, room)
        if machine.host:
            machine.host.admission = admission
        else:
            machine.host = Host(admission, machine.fingerprint.machine.id, slots=0)
        return machine.host

    def _prepare(self, worker: CrewWorker, host: Host) -> None:
        company = self._owner.company(host.admission)
        seats = min(company.workers, worker.slots)
        if not seats:
            self._crew.ready_now(worker, host)
            return

        def then(worker: CrewWorker, get: Get) -> Iterable[AttemptState]:
            self._fitness.result(worker, get)
            if not worker.refused:
                self._crew.ready_now(worker, host)
            return ()

        self._tasks.submit(worker, then, chores.prepare, self._setup.token, seats, company.pages)
