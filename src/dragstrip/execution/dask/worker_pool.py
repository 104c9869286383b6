"""The workers of a cluster, and the machines they run on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dragstrip.execution.host import Host
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.schedule.schedule import Attempt


@dataclass(eq=False)
class PoolWorker:
    """A Dask worker process, which runs tasks."""

    address: str
    accepted: bool = False
    """Whether the worker's machine matches the other machines of the study."""
    stale: bool = False
    """Whether another process took the worker's place. That process does not have the study."""
    refused: str = ""
    """Why the worker makes no visits; empty if it may."""
    slots: int = 0
    ahead: int = 0
    """Tasks that may wait on the worker besides the running ones, so that the next task begins at
    once."""
    together: int = 1
    """Most attempts per task."""
    fingerprint: Fingerprint | None = None
    host: Host | None = None
    """The worker's machine; None until the worker makes visits."""
    running: set[Attempt] = field(default_factory=set)
    lacks: tuple[str, ...] = ()
    """Digests of pages that still have to be sent to the worker."""

    @property
    def room(self) -> int:
        return (self.slots + self.ahead) * self.together if self.slots else 0


@dataclass(eq=False)
class PoolMachine:
    """A machine with one or more workers. Their attempts together obey the machine's rule for
    parallel blocks."""

    fingerprint: Fingerprint
    workers: list[PoolWorker] = field(default_factory=list)
    host: Host | None = None
    """The machine as a host for attempts; None until it has passed calibration and A/A control."""
    measuring: PoolWorker | None = None
    """The worker that measures the machine's link."""


_TASK_S = 0.25
"""Seconds that a task should take at least, so that Dask's overhead per task is small."""
_MOST_TOGETHER = 64


class WorkerPool:
    """The known workers, and how many attempts each has room for."""

    def __init__(self) -> None:
        self.workers: dict[str, PoolWorker] = {}
        """Workers by address."""
        self.machines: dict[str, PoolMachine] = {}
        """Machines by id."""
        self.ready = 0
        """Number of times that a worker became ready or left. It changes whenever `hosts` does."""

    @property
    def hosts(self) -> Sequence[Host]:
        return [m.host for m in self.machines.values() if m.host and m.host.slots]

    def join(self, address: str) -> PoolWorker:
        self.workers[address] = PoolWorker(address)
        return self.workers[address]

    def machine_of(self, worker: PoolWorker) -> PoolMachine:
        assert worker.fingerprint
        machine = PoolMachine(worker.fingerprint)
        return self.machines.setdefault(worker.fingerprint.machine.id, machine)

    def ready_now(self, worker: PoolWorker, host: Host) -> None:
        worker.host = host
        host.slots = (host.slots or 0) + worker.room
        self.ready += 1

    def free(self, host: Host) -> PoolWorker:
        """Return the host's worker with the most room for an attempt."""
        workers = (w for w in self.workers.values() if w.host is host and not w.refused)
        return max(workers, key=lambda worker: worker.room - len(worker.running))

    def pace(self, worker: PoolWorker, attempt_s: float) -> None:
        """Choose how many attempts the worker's next tasks hold, given the seconds per attempt."""
        if not worker.host or not worker.slots:
            return
        before = worker.room
        wanted = int(_TASK_S / attempt_s) if attempt_s else _MOST_TOGETHER
        worker.together = max(1, min(wanted, 2 * worker.together, _MOST_TOGETHER))
        host = worker.host
        host.slots = (host.slots or 0) + worker.room - before
        host.concurrency.jobs = max(host.concurrency.jobs, host.slots)

    def dismiss(self, worker: PoolWorker) -> None:
        """Keep a worker but give it no further attempts."""
        self._no_room(worker)
        for machine in self.machines.values():
            if worker in machine.workers:
                machine.workers.remove(worker)

    def leave(self, worker: PoolWorker) -> None:
        self.dismiss(worker)
        self.workers.pop(worker.address, None)

    def _no_room(self, worker: PoolWorker) -> None:
        if worker.host:
            assert worker.host.slots is not None
            worker.host.slots -= worker.room
            worker.slots = 0
            self.ready += 1
