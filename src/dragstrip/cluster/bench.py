"""Testbeds of a Dask worker, kept open between tasks, one for each attempt at once.

They are processes of their own that end when the worker does.
"""

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from multiprocessing.connection import wait

from dragstrip.cluster.setup import Abandoned, Result, Setup
from dragstrip.model.study import Study
from dragstrip.model.visit import OF_BROWSERS
from dragstrip.results.artefacts import artefacts
from dragstrip.schedule.schedule import Attempt
from dragstrip.schedule.seat import Seat
from dragstrip.schedule.worker import MadeVisit
from dragstrip.testbed.workspace import workspace

_IDLE_S = 60.0
"""A testbed that nobody needs is taken down; its client may be dead."""
_DEAD_S = 600.0
"""After which a client that asks for nothing is taken for dead, and its folder is removed."""
_LOOK_S = 1.0


class Bench:
    """`close` ends a bench whose client seems to be dead."""

    def __init__(self, setup: Setup, study: Study, close: Callable[[], object]) -> None:
        self.setup = setup
        self.study = study
        self._give_up = close
        self._resources = ExitStack()
        self.folder = self._resources.enter_context(workspace())
        self._pages: Collection[str] = ()
        self._idle: list[tuple[float, Seat]] = []
        self._used = time.monotonic()
        self._seats = 0
        self._restart: int | None = None
        self._lock = threading.Lock()
        self._renewing = threading.Lock()
        self._closed = threading.Event()
        threading.Thread(target=self._tidy, daemon=True).start()

    def prepare(self, seats: int, pages: Collection[str]) -> None:
        """Open testbeds before the first visit, so that none disturbs another's."""
        self._pages, self._seats = pages, seats
        opened = [self._seat() for _ in range(seats)]
        opening = {seat.connection for seat in opened}
        while opening:
            opening.difference_update(wait(opening))
        for seat in opened:
            self._rest(seat)

    def renew(self, restart: int | None) -> None:
        """Each of the study's restarts has testbeds of its own; none is busy when one begins."""
        with self._renewing:
            before, self._restart = self._restart, restart
            if before in (None, restart):
                return
            with self._lock:
                idle, self._idle = [seat for _, seat in self._idle], []
            _end(idle)
            self.prepare(self._seats, self._pages)

    def make(self, attempt: Attempt, given_up: Callable[[], bool]) -> Result:
        """Raises `TestbedError`, `InputError` and `Abandoned`."""
        self._used = time.monotonic()
        seat = self._take()
        made: list[MadeVisit] = []
        try:
            seat.begin(attempt)
            while len(made) < attempt.visits:
                self._used = time.monotonic()
                if wait([seat.connection], _LOOK_S):
                    found = seat.answer()
                    if found is not None:
                        made.append(found)
                        seat.go_on()
                elif given_up():
                    raise Abandoned
        except BaseException:
            _end([seat])
            raise
        self._rest(seat)
        self._used = time.monotonic()
        return Result(made=made, files=self._files(made))

    def close(self) -> dict[str, bytes]:
        """End all testbeds; returns what belongs to whole browsers."""
        self._closed.set()
        with self._lock:
            idle, self._idle = [seat for _, seat in self._idle], []
        _end(idle)
        left = {
            str(file.relative_to(self.folder)): file.read_bytes()
            for file in (self.folder / OF_BROWSERS).glob("*")
        }
        self._resources.close()
        return left

    def _seat(self) -> Seat:
        return Seat(self.setup.place(self.study, self.folder, self._pages))

    def _take(self) -> Seat:
        with self._lock:
            if self._idle:
                return self._idle.pop()[1]
        return self._seat()

    def _rest(self, seat: Seat) -> None:
        with self._lock:
            self._idle.append((time.monotonic(), seat))

    def _files(self, made: Sequence[MadeVisit]) -> dict[str, bytes]:
        found = {}
        for visit, _ in made:
            for artefact in artefacts(self.folder, visit):
                found[str(artefact.path.relative_to(self.folder))] = artefact.path.read_bytes()
                artefact.path.unlink()
        return found

    def _tidy(self) -> None:
        while not self._closed.wait(_IDLE_S / 4):
            limit = time.monotonic() - _IDLE_S
            with self._lock:
                stale = [seat for since, seat in self._idle if since < limit]
                self._idle = [(since, seat) for since, seat in self._idle if since >= limit]
            _end(stale)
            kept = any((self.folder / OF_BROWSERS).glob("*"))  # which a live client fetches
            if time.monotonic() > self._used + _DEAD_S and not kept:
                self._give_up()


def _end(seats: Sequence[Seat]) -> None:
    for seat in seats:
        seat.end()
    for seat in seats:
        seat.wait()
