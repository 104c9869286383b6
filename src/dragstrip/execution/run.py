"""Runs a study block by block, in parallel where that does not change results, and resumes earlier
runs."""

from collections.abc import Callable, Sequence

from msgspec import structs

from dragstrip.browsers.load import Load
from dragstrip.execution.executor import AttemptState, Executor
from dragstrip.execution.host import Host
from dragstrip.model.visit import Visit
from dragstrip.schedule.schedule import Schedule

Keep = Callable[[Visit, Load], None]
"""Called with each visit as soon as it is made, one at a time. The function must store the visit
before it returns."""


def run(schedule: Schedule, keep: Keep, executor: Executor) -> None:
    """Make every visit that is left; add each to the schedule and pass it to `keep`.

    One machine makes all visits of a block, in one session. Each machine's concurrency decides
    which blocks run on it in parallel. Each of the study's restarts has new sessions. Raises
    `TestbedError` if no visit can be made.
    """
    while True:
        for host in executor.hosts:
            while attempt := host.take(schedule):
                executor.begin(host, attempt)
        if not schedule.waiting and not any(host.running for host in executor.hosts):
            return
        for answer in executor.answers(_pause_s(executor.hosts)):
            _receive(answer, schedule, keep)


def _receive(answer: AttemptState, schedule: Schedule, keep: Keep) -> None:
    host, attempt = answer.host, answer.attempt
    for evidence, load in answer.made:
        beside = host.beside(attempt)
        visit = structs.replace(evidence, beside=beside, machine=host.machine)
        visit = schedule.judged(visit)
        schedule.add(visit)
        keep(visit, load)
        host.concurrency.learn(visit)
        host.made(attempt)
    if answer.over:
        host.over(attempt)
        schedule.give_back(attempt)


def _pause_s(hosts: Sequence[Host]) -> float | None:
    """Return the seconds until a waiting machine may begin another block; None if no machine
    waits."""
    pauses = [host.pause_s() for host in hosts if host.running]
    return min((pause for pause in pauses if pause > 0), default=None)
