"""The executor that makes all visits on this machine, each block in its own process."""

import contextlib
from collections.abc import Iterator, Sequence
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

from dragstrip.schedule.admission import Admission, Admits
from dragstrip.schedule.executor import AttemptState
from dragstrip.schedule.host import Host
from dragstrip.schedule.place import in_testbed
from dragstrip.schedule.run import Keep, run
from dragstrip.schedule.schedule import Attempt, Schedule
from dragstrip.schedule.seat import Seat
from dragstrip.schedule.worker import VisitPlace

__all__ = ["Local", "Schedule", "here", "run_here"]


class Local:
    """Made by `here`."""

    def __init__(self, place: VisitPlace, host: Host) -> None:
        self._place = place
        self._host = host
        self._busy: dict[Attempt, Seat] = {}
        self._idle: list[Seat] = []
        self._seats = 0
        self._restart: int | None = None

    @property
    def hosts(self) -> Sequence[Host]:
        return [self._host]

    def open(self, seats: int) -> None:
        """Start this many and wait until all their places are open, so that none disturbs another's
        visits. A failed one raises when it is asked for a visit."""
        self._seats = seats
        self._idle = [Seat(self._place) for _ in range(seats)]
        opening = {seat.connection for seat in self._idle}
        while opening:
            opening.difference_update(wait(opening))

    def begin(self, host: Host, attempt: Attempt) -> None:
        if self._restart not in (None, host.restart):
            self._renew()
            host.stagger()
        self._restart = host.restart
        seat = self._idle.pop() if self._idle else Seat(self._place)
        self._busy[attempt] = seat
        seat.begin(attempt)

    def answers(self, seconds: float | None) -> Iterator[AttemptState]:
        ready = wait([seat.connection for seat in self._busy.values()], seconds)
        for attempt, seat in list(self._busy.items()):
            if seat.connection not in ready:
                continue
            made = seat.answer()
            if made is None:
                continue
            yield AttemptState(host=self._host, attempt=attempt, made=(made,))
            if not seat.go_on():
                self._idle.append(self._busy.pop(attempt))
                yield AttemptState(host=self._host, attempt=attempt, over=True)

    def close(self) -> None:
        _end([*self._idle, *self._busy.values()])

    def _renew(self) -> None:
        """Close all testbeds (none is busy), and open as many new ones."""
        assert not self._busy
        _end(self._idle)
        self.open(self._seats)


def _end(seats: Sequence[Seat]) -> None:
    for seat in seats:
        seat.end()
    for seat in seats:
        seat.wait()


@contextlib.contextmanager
def here(
    schedule: Schedule,
    artefacts: Path | None = None,
    *,
    admission: Admits | None = None,
    place: VisitPlace | None = None,
    machine: str = "",
) -> Iterator[Local]:
    """This machine, whose id is `machine`, with a testbed for each block that runs at once.

    `admission` says how many do, by default one. What belongs to a whole browser goes to
    `artefacts`. `place` may put something else for the testbed.
    """
    admission = admission or Admission(schedule.study)
    company = admission.company(schedule.left)
    place = place or partial(in_testbed, schedule.study, artefacts, company.pages)
    local = Local(place, Host(admission, machine))
    try:
        local.open(company.workers)
        yield local
    finally:
        local.close()


def run_here(
    schedule: Schedule,
    keep: Keep,
    artefacts: Path | None = None,
    *,
    admission: Admits | None = None,
    place: VisitPlace | None = None,
) -> None:
    """`run` on this machine; see `here`."""
    with here(schedule, artefacts, admission=admission, place=place) as executor:
        run(schedule, keep, executor)
