"""Runs a study block by block, several at once where that changes nothing, from wherever an earlier
run stopped."""

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

from msgspec import structs

from dragstrip.browsers.cdp import CdpError
from dragstrip.browsers.load import Load
from dragstrip.model.study import Block
from dragstrip.model.visit import Visit
from dragstrip.schedule.admission import Admission, Admits
from dragstrip.schedule.place import in_testbed
from dragstrip.schedule.schedule import Attempt, Schedule
from dragstrip.schedule.worker import Order, Place, Worker
from dragstrip.testbed.errors import TestbedError

__all__ = ["Keep", "Schedule", "run"]

_BROWSER_CRASHES = 3

Keep = Callable[[Visit, Load], None]
"""Called with every visit as soon as it is made, one at a time; must store it before it returns."""


def run(
    schedule: Schedule,
    keep: Keep,
    artefacts: Path | None = None,
    *,
    admission: Admits | None = None,
    place: Place | None = None,
) -> None:
    """Make every visit that is left, adding each to the schedule and handing it to `keep`.

    All of a block's visits are made in one testbed, a process of its own; `admission` says how many
    blocks run at once, by default one. Each of the study's restarts has testbeds of its own. A
    browser that crashes is restarted and its visit made again; nothing of a crashed visit is kept.
    What belongs to a whole browser goes to `artefacts`. `place` may put something else for the
    testbed. Raises `TestbedError` if the testbed cannot be had or the browser crashes repeatedly.
    """
    admission = admission or Admission(schedule.study)
    company = admission.company(schedule.left)
    place = place or partial(in_testbed, schedule.study, artefacts, company.pages)
    with _crew(place) as crew:
        crew.open(company.workers)
        next_start = time.monotonic()
        restart: int | None = None
        while True:
            pause = next_start - time.monotonic()
            if pause <= 0 or not crew.busy:
                running = [busy.attempt.block for busy in crew.busy]
                admits = partial(admission.admits, running=running)
                attempt = schedule.take(_of_restart(schedule, restart, admits))
                if not attempt and not crew.busy and (attempt := schedule.take(admits)):
                    if restart is not None:
                        crew.renew(company.workers)
                    restart = schedule.study.restart_of(attempt.block)
                if attempt:
                    crew.begin(attempt, schedule)
                    next_start = time.monotonic() + admission.stagger_s
                    continue
                if not crew.busy:
                    return
            for busy in crew.answering(pause if pause > 0 else None):
                try:
                    made = busy.worker.answer()
                except (CdpError, EOFError) as error:
                    crew.again(busy, schedule, error)
                    continue
                if made is None:
                    continue
                visit, load = made
                visit = schedule.judged(structs.replace(visit, beside=busy.beside))
                schedule.add(visit)
                keep(visit, load)
                admission.learn(visit)
                crew.go_on(busy, schedule)


def _of_restart(
    schedule: Schedule, restart: int | None, admits: Callable[[Block], bool]
) -> Callable[[Block], bool]:
    """Admits blocks of this restart, or an earlier one, alone."""
    if restart is None:
        return lambda _: False
    return lambda block: schedule.study.restart_of(block) <= restart and admits(block)


@dataclass
class _Busy:
    """A worker and the attempt it is making."""

    worker: Worker
    attempt: Attempt
    position: int = 0
    """Of the stack it visits, among the attempt's."""
    beside: int = 0
    broken: int = 0


@dataclass
class _Crew:
    place: Place
    busy: list[_Busy] = field(default_factory=list)
    idle: list[Worker] = field(default_factory=list)

    def open(self, workers: int) -> None:
        """Start so many and wait until the places of all are open, so that none disturbs the
        visits of another. One that failed says so when it is asked for a visit."""
        self.idle = [Worker(self.place) for _ in range(workers)]
        opening = {worker.connection for worker in self.idle}
        while opening:
            opening.difference_update(wait(opening))

    def renew(self, workers: int) -> None:
        """Close all places, none of which is busy, and open as many new ones."""
        for worker in self.idle:
            worker.end()
        for worker in self.idle:
            worker.wait()
        self.open(workers)

    def begin(self, attempt: Attempt, schedule: Schedule) -> None:
        busy = _Busy(self.idle.pop() if self.idle else Worker(self.place), attempt)
        self.busy.append(busy)
        for one in self.busy:
            one.beside = max(one.beside, len(self.busy) - 1)
        _order(busy, schedule)

    def answering(self, seconds: float | None) -> list[_Busy]:
        """Waits until some workers answer, or so long."""
        ready = wait([busy.worker.connection for busy in self.busy], seconds)
        return [busy for busy in self.busy if busy.worker.connection in ready]

    def go_on(self, busy: _Busy, schedule: Schedule) -> None:
        """To the next stack of the block, or to rest."""
        busy.position, busy.broken = busy.position + 1, 0
        busy.beside = len(self.busy) - 1
        if busy.position < len(busy.attempt.stacks):
            _order(busy, schedule)
        else:
            self.busy.remove(busy)
            self.idle.append(busy.worker)

    def again(self, busy: _Busy, schedule: Schedule, error: Exception) -> None:
        """Makes the visit again in a new testbed."""
        busy.broken += 1
        if busy.broken == _BROWSER_CRASHES:
            said = str(error) or "its process ended"
            raise TestbedError(f"the browser broke {busy.broken} times: {said}") from error
        if isinstance(error, EOFError):
            busy.worker.wait()
            busy.worker = Worker(self.place)
        _order(busy, schedule)


def _order(busy: _Busy, schedule: Schedule) -> None:
    attempt = busy.attempt
    busy.worker.order(
        Order(
            block=attempt.block,
            attempt=attempt.attempt,
            stack=attempt.stacks[busy.position],
        )
    )


@contextlib.contextmanager
def _crew(place: Place) -> Iterator[_Crew]:
    """Workers, started when first needed, that all end with the block."""
    crew = _Crew(place)
    try:
        yield crew
    finally:
        workers = (*crew.idle, *(busy.worker for busy in crew.busy))
        for worker in workers:
            worker.end()
        for worker in workers:
            worker.wait()
