"""The workers of a cluster, and the machines they run on."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dragstrip.execution.host import Host
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.schedule.schedule import Attempt


@dataclass(eq=False)
class PoolWorker:
    """A process of Dask's that runs tasks."""

    address: str
    accepted: bool = False
    """Whether its machine matches the other machines of the study."""
    stale: bool = False
    """Whether another process took its place, which does not have the study."""
    refused: str = ""
    """Why it makes no visits."""
    slots: int = 0
    ahead: int = 0
    """Tasks beyond these that wait there, so that the next begins at once."""
    together: int = 1
    """Attempts of one task at most."""
    fingerprint: Fingerprint | None = None
    host: Host | None = None
    """None until it makes visits."""
    running: set[Attempt] = field(default_factory=set)
    lacks: tuple[str, ...] = ()
    """Digests of pages that it is still to be sent."""

    @property
    def room(self) -> int:
        return (self.slots + self.ahead) * self.together if self.slots else 0


@dataclass(eq=False)
class PoolMachine:
    """Several workers may run on one; its rule holds for all of them together."""

    fingerprint: Fingerprint
    workers: list[PoolWorker] = field(default_factory=list)
    host: Host | None = None
    """None until it is known to be fit."""
    measuring: PoolWorker | None = None
    """Who measures its link."""


_TASK_S = 0.25
"""What a task should take at least: what Dask adds to each is then a small part."""
_MOST_TOGETHER = 64


class WorkerPool:
    """Who is there, and what each has room for."""

    def __init__(self) -> None:
        self.workers: dict[str, PoolWorker] = {}
        """Workers by address."""
        self.machines: dict[str, PoolMachine] = {}
        """Machines by id."""
        self.ready = 0
        """How often a worker became ready or left: changes with `hosts`."""

    @property
    def hosts(self) -> Sequence[Host]:
        return [m.host for m in self.machines.values() if m.host and m.host.slots]

    def join(self, address: str) -> PoolWorker:
        self.workers[address] = PoolWorker(address)
        return self.workers[address]

    def machine_of(self, worker: PoolWorker) -> PoolMachine:
        assert worker.fingerprint
        made = PoolMachine(worker.fingerprint)
        return self.machines.setdefault(worker.fingerprint.machine.id, made)

    def ready_now(self, worker: PoolWorker, host: Host) -> None:
        worker.host = host
        host.slots = (host.slots or 0) + worker.room
        self.ready += 1

    def free(self, host: Host) -> PoolWorker:
        """The one with most room for an attempt."""
        own = (w for w in self.workers.values() if w.host is host and not w.refused)
        return max(own, key=lambda worker: worker.room - len(worker.running))

    def pace(self, worker: PoolWorker, attempt_s: float) -> None:
        """How many attempts its tasks hold from now on, if one takes so long."""
        if not worker.host or not worker.slots:
            return
        before = worker.room
        wanted = int(_TASK_S / attempt_s) if attempt_s else _MOST_TOGETHER
        worker.together = max(1, min(wanted, 2 * worker.together, _MOST_TOGETHER))
        host = worker.host
        host.slots = (host.slots or 0) + worker.room - before
        host.concurrency.jobs = max(host.concurrency.jobs, host.slots)

    def dismiss(self, worker: PoolWorker) -> None:
        """Keeps a worker but gives it no further attempts."""
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
