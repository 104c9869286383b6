"""What runs in a Dask worker: testbeds kept open between tasks, one for each attempt at once.

A task returns an attempt's visits all together, with their artefacts; if the worker dies before,
nothing of the attempt exists. Testbeds are processes of their own that end when the worker does.
"""

import atexit
import fcntl
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from multiprocessing.connection import wait
from pathlib import Path

from distributed import get_worker
from distributed.utils import sync
from msgspec import Struct

from dragstrip.cluster import stored
from dragstrip.cluster.words import RESOURCE
from dragstrip.model.calibration import Calibration
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.results.artefacts import artefacts
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.schedule.schedule import Attempt
from dragstrip.schedule.seat import Seat
from dragstrip.schedule.worker import Made, Place
from dragstrip.testbed.workspace import scratch_root, workspace

_IDLE_S = 60.0
"""A testbed that nobody needs is taken down; its client may be dead."""
_DEAD_S = 600.0
"""After which a client that asks for nothing is taken for dead, and its folder is removed."""
_LOOK_S = 1.0
_OF_BROWSERS = "netlog"
"""Holds what belongs to a whole browser, which is complete when the browser ends."""


class Setup(Struct, frozen=True, kw_only=True):
    """What a worker must know of a study."""

    token: str
    """Of one start of the client: its testbeds are nobody else's."""
    study: Study
    place: Callable[[Study, Path, Collection[str]], Place]
    """Where visits are made, by the study, the folder of artefacts and the pages to rehearse."""
    fingerprint: Callable[[Study], Fingerprint]
    calibrate: Callable[[Study], Calibration] | None
    """Measures a machine's link before its first visit; None where that is not asked for."""
    most: Callable[[Study], int]
    """Attempts that a machine has room for at most."""
    independent: bool = False
    """Attempts do not mind others beside them, so more may wait on a worker, and go together."""


class Opened(Struct, frozen=True, kw_only=True):
    fingerprint: Fingerprint
    lacks: tuple[str, ...] = ()
    """Digests of pages that must be sent before it is open."""
    slots: int = 0


class Result(Struct, frozen=True, kw_only=True):
    made: list[Made]
    files: dict[str, bytes]
    """By their paths in the capsule."""


class Batch(Struct, frozen=True, kw_only=True):
    results: list[Result]
    """Of the first attempts of a task, one at least; the others were not made."""
    took_s: float


class NotOpen(Exception):
    """This process knows nothing of the study: it is another than the one that was set up."""


class Abandoned(Exception):
    """Nobody waits for the attempt any longer."""


class _Bench:
    def __init__(self, setup: Setup, study: Study) -> None:
        self.setup = setup
        self.study = study
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
        made: list[Made] = []
        try:
            seat.begin(attempt)
            while len(made) < len(attempt.stacks):
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
            for file in (self.folder / _OF_BROWSERS).glob("*")
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

    def _files(self, made: Sequence[Made]) -> dict[str, bytes]:
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
            kept = any((self.folder / _OF_BROWSERS).glob("*"))  # which a live client fetches
            if time.monotonic() > self._used + _DEAD_S and not kept:
                close(self.setup.token)


_benches: dict[str, _Bench] = {}


def open_bench(setup: Setup) -> Opened:
    """Gets ready for attempts, if all pages are here. Raises `TestbedError` if this machine lacks
    a program, and `InputError` for a file of the study's that is not here."""
    if setup.study.ca and not Path(setup.study.ca).exists():
        raise InputError(f"{setup.study.ca}: is not on this machine")
    fingerprint = setup.fingerprint(setup.study)
    study = stored.relocated(setup.study)
    if isinstance(study, tuple):
        return Opened(fingerprint=fingerprint, lacks=study)
    if setup.token not in _benches:
        _benches[setup.token] = _Bench(setup, study)
    return Opened(fingerprint=fingerprint, slots=_slots(setup.most(study)))


def store_page(data: bytes, digest: str) -> bool:
    stored.store(digest, data)
    return True


def calibrate(token: str) -> Calibration:
    """Measures this machine's link, alone. Raises `TestbedError`."""
    bench = _known(token)
    assert bench.setup.calibrate
    scratch_root().mkdir(mode=0o711, exist_ok=True)
    with (scratch_root() / "calibrating.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        return bench.setup.calibrate(bench.study)


def prepare(token: str, seats: int, pages: tuple[str, ...]) -> None:
    _known(token).prepare(seats, pages)


def make(token: str, key: str, restart: int | None, attempts: Sequence[Attempt]) -> Batch:
    """The task of this `key`. If an attempt breaks, those before it are made; the first raises."""
    began = time.monotonic()
    bench = _known(token)
    bench.renew(restart)
    results: list[Result] = []
    for attempt in attempts:
        try:
            results.append(bench.make(attempt, lambda: not _wanted(key)))
        except Exception:
            if not results:
                raise
            break
    return Batch(results=results, took_s=time.monotonic() - began)


def close(token: str) -> dict[str, bytes]:
    bench = _benches.pop(token, None)
    return bench.close() if bench else {}


@atexit.register
def _close_all() -> None:
    """A worker that is ended in order leaves no folder."""
    for token in list(_benches):
        close(token)


def _known(token: str) -> _Bench:
    if token not in _benches:
        raise NotOpen
    return _benches[token]


def _wanted(key: str) -> bool:
    task = get_worker().state.tasks.get(key)
    return task is not None and task.state == "executing"


def _slots(most: int) -> int:
    """What the worker was started with, else as many as its threads carry out, up to `most`."""
    worker = get_worker()
    declared = worker.state.total_resources.get(RESOURCE)
    if declared is None:
        declared = min(worker.state.nthreads, most)
        sync(worker.loop, worker.set_resources, **{RESOURCE: declared})
    return int(min(declared, worker.state.nthreads))


def _end(seats: Sequence[Seat]) -> None:
    for seat in seats:
        seat.end()
    for seat in seats:
        seat.wait()
