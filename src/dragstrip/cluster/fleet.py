"""The executor whose machines are the workers of a Dask cluster."""

import time
from collections.abc import Iterable, Iterator, Sequence
from math import inf
from pathlib import Path

from distributed import Client

from dragstrip.cluster import chores
from dragstrip.cluster.crew import Crew, CrewWorker
from dragstrip.cluster.enlisting import Enlisting
from dragstrip.cluster.fitness import Fitness
from dragstrip.cluster.gate import Gate
from dragstrip.cluster.owner import Owner
from dragstrip.cluster.scheduler import Scheduler
from dragstrip.cluster.setup import Batch, Setup
from dragstrip.cluster.tasks import Get, Tasks
from dragstrip.cluster.words import RESOURCE
from dragstrip.schedule.executor import AttemptState
from dragstrip.schedule.host import Host
from dragstrip.schedule.schedule import Attempt

_LOOK_S = 1.0
"""How often the scheduler is asked who is there."""
_CLOSE_S = 20.0


class Fleet:
    """Pins each attempt to a worker that has room for it, so that the rule of every machine holds.

    Where attempts do not mind each other, more of them wait on each worker, and short ones go there
    together. What a lost worker was making is given back. If it comes back later, its results are
    not taken.
    """

    def __init__(self, client: Client, setup: Setup, out: Path, gate: Gate, owner: Owner) -> None:
        self._setup = setup
        self._out = out
        self._crew = Crew()
        self._scheduler = Scheduler(client)
        self._tasks = Tasks(client, self._scheduler, setup.token)
        self._fitness = Fitness(self._crew, owner.said)
        self._enlisting = Enlisting(setup, self._crew, self._tasks, self._fitness, gate, owner)
        self._begun: dict[CrewWorker, list[Attempt]] = {}
        """Not yet submitted."""
        self._looked = 0.0

    @property
    def hosts(self) -> Sequence[Host]:
        return self._crew.hosts

    def browser(self, machine: str, stack: str) -> str:
        return self._crew.machines[machine].fingerprint.browsers.get(stack, "")

    def begin(self, host: Host, attempt: Attempt) -> None:
        worker = self._crew.free(host)
        worker.running.add(attempt)
        self._begun.setdefault(worker, []).append(attempt)

    def answers(self, seconds: float | None) -> Iterator[AttemptState]:
        self._submit()
        deadline = time.monotonic() + (inf if seconds is None else seconds)
        changed = False
        while not changed:
            if time.monotonic() > self._looked + _LOOK_S:
                before = self._crew.ready
                yield from self._look()
                changed = self._crew.ready != before
            patience = min(_LOOK_S, deadline - time.monotonic())
            for worker, then, get in self._tasks.done(0.0 if changed else patience):
                changed = True
                yield from then(worker, get)
            changed = changed or time.monotonic() >= deadline

    def close(self) -> None:
        """Ends all testbeds, as far as their workers can be reached."""
        accepted = [worker for worker in self._crew.workers.values() if worker.accepted]
        for left in self._tasks.end(accepted, chores.close, _CLOSE_S):
            self._store(left)

    def _submit(self) -> None:
        begun, self._begun = self._begun, {}
        for worker, attempts in begun.items():
            assert worker.host
            restart = worker.host.restart
            for first in range(0, len(attempts), worker.together):
                self._make(worker, restart, attempts[first : first + worker.together])

    def _make(self, worker: CrewWorker, restart: int | None, attempts: Sequence[Attempt]) -> None:
        key = self._tasks.key("attempt")

        def then(worker: CrewWorker, get: Get) -> Iterable[AttemptState]:
            return self._made(worker, attempts, get)

        args = (self._setup.token, key, restart, attempts)
        self._tasks.submit(worker, then, chores.make, *args, key=key, resources={RESOURCE: 1})

    def _made(
        self, worker: CrewWorker, attempts: Sequence[Attempt], get: Get
    ) -> Iterator[AttemptState]:
        host = worker.host
        assert host
        worker.running.difference_update(attempts)
        batch: Batch | None = self._fitness.result(worker, get, attempts[0])
        results = batch.results if batch else []
        if batch and self._setup.independent:
            self._crew.pace(worker, batch.took_s / len(results))
        for attempt, result in zip(attempts, results, strict=False):
            self._store(result.files)
            yield AttemptState(host=host, attempt=attempt, made=result.made, over=True)
        for attempt in attempts[len(results) :]:
            yield AttemptState(host=host, attempt=attempt, over=True)

    def _look(self) -> Iterator[AttemptState]:
        """Who is there, and who is not any more."""
        self._looked = time.monotonic()
        known = self._scheduler.workers()
        if known is None:
            return
        for worker in list(self._crew.workers.values()):
            if worker.stale or worker.address not in known:
                yield from self._lose(worker)
        for address in known:
            if address not in self._crew.workers:
                self._enlisting.open(self._crew.join(address))
        self._fitness.check_hope()

    def _lose(self, worker: CrewWorker) -> Iterator[AttemptState]:
        """It died, or fell silent, or was started anew."""
        self._tasks.forget(worker)
        lost, host = list(worker.running), worker.host
        self._crew.leave(worker)
        for attempt in lost:
            assert host
            yield AttemptState(host=host, attempt=attempt, over=True)
        self._enlisting.lost(worker)

    def _store(self, files: dict[str, bytes]) -> None:
        for name, data in files.items():
            target = self._out / name
            target.parent.mkdir(exist_ok=True)
            target.write_bytes(data)
