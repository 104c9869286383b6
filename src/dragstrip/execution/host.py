"""A machine with its running attempts. One rule, the same for all executors, decides which attempts
may begin."""

import time
from collections.abc import Mapping, Sequence

from dragstrip.execution.concurrency import Concurrency
from dragstrip.model.study import Block, CellKey
from dragstrip.schedule.schedule import Attempt, Schedule


class Host:
    """A machine that decides which attempts may run on it in parallel."""

    def __init__(
        self, concurrency: Concurrency, machine: str = "", slots: int | None = None
    ) -> None:
        self.concurrency = concurrency
        self.machine = machine
        """Id of the machine, which its visits record; see `dragstrip.model.visit.Visit.machine`."""
        self.slots = slots
        """Most attempts in parallel; None sets no limit."""
        self.restart: int | None = None
        """The study's current restart; None before the first."""
        self._beside: dict[Attempt, int] = {}
        self._next_start = time.monotonic()

    @property
    def running(self) -> Sequence[Attempt]:
        return list(self._beside)

    def take(self, schedule: Schedule) -> Attempt | None:
        """Take the next attempt that may begin here now; None if there is none."""
        if self._beside and self.pause_s() > 0:
            return None
        if self.slots is not None and len(self._beside) >= self.slots:
            return None
        attempt = self._next(schedule)
        if attempt:
            self.stagger()
            self._beside[attempt] = 0
            others = len(self._beside) - 1
            self._beside = {one: max(most, others) for one, most in self._beside.items()}
        return attempt

    def _next(self, schedule: Schedule) -> Attempt | None:
        """Return the next attempt of the current restart. Attempts of other restarts begin only
        when nothing runs."""
        running = [attempt.block for attempt in self._beside]

        def allows(block: Block) -> bool:
            return self.concurrency.allows(block, running)

        def of_restart(block: Block) -> bool:
            return schedule.study.restart_of(block) <= restart and allows(block)

        restart = -1 if self.restart is None else self.restart
        attempt = schedule.take(of_restart)
        if not attempt and not running and (attempt := schedule.take(allows)):
            self.restart = schedule.study.restart_of(attempt.block)
        return attempt

    def stagger(self) -> None:
        """Record that an attempt begins, so the next must wait `stagger_s`."""
        self._next_start = time.monotonic() + self.concurrency.stagger_s

    def pause_s(self) -> float:
        """Return seconds until another attempt may begin beside the running ones."""
        return max(0.0, self._next_start - time.monotonic())

    def beside(self, attempt: Attempt) -> int:
        """Return the largest number of other attempts that ran in parallel since this attempt's
        last visit."""
        return self._beside[attempt]

    def made(self, attempt: Attempt) -> None:
        """Record that a visit of the attempt is done."""
        self._beside[attempt] = len(self._beside) - 1

    def over(self, attempt: Attempt) -> None:
        """Forget an attempt that no longer runs."""
        del self._beside[attempt]


def seconds_left(hosts: Sequence[Host], left: Mapping[CellKey, int]) -> float:
    """Return the seconds that all machines together take for this many visits on each cell; 0
    without machines."""
    alone = [host.concurrency.seconds(left) for host in hosts]
    if not alone or min(alone) <= 0:
        return 0.0
    return 1 / sum(1 / seconds for seconds in alone)
