"""Sends workers the pages that they lack, one worker at a time: the next may share its disk."""

from collections import deque
from collections.abc import Callable, Iterable

from dragstrip.cluster import chores
from dragstrip.cluster.crew import Crew, CrewWorker
from dragstrip.cluster.fitness import Fitness
from dragstrip.cluster.tasks import Get, Tasks
from dragstrip.model.study import Study
from dragstrip.schedule.executor import AttemptState


class PageSender:
    """`again` opens a worker anew, which then says what it still lacks."""

    def __init__(
        self,
        study: Study,
        crew: Crew,
        tasks: Tasks,
        fitness: Fitness,
        again: Callable[[CrewWorker], None],
    ) -> None:
        self._study = study
        self._crew = crew
        self._tasks = tasks
        self._fitness = fitness
        self._again = again
        self._lacking: deque[CrewWorker] = deque()

    def wanted_by(self, worker: CrewWorker) -> None:
        self._lacking.append(worker)
        if len(self._lacking) == 1:
            self._send(worker)

    def lost(self, worker: CrewWorker) -> None:
        if worker in self._lacking:
            self._over()

    def _send(self, worker: CrewWorker) -> None:
        digest, *rest = worker.lacks
        worker.lacks = tuple(rest)
        page = next(p for p in self._study.pages if p.digest == digest)
        self._tasks.send(worker, self._sent, chores.store_page, page.path.read_bytes(), digest)

    def _sent(self, worker: CrewWorker, get: Get) -> Iterable[AttemptState]:
        stored = self._fitness.result(worker, get)
        if stored and worker.lacks:
            self._send(worker)
        else:
            self._over()
        return ()

    def _over(self) -> None:
        """The others may have the pages by now, so all look again."""
        there = self._crew.workers
        again = [w for w in self._lacking if not w.refused and w.address in there]
        self._lacking.clear()
        for worker in again:
            self._again(worker)
