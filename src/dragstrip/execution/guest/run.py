"""Runs a job in a guest: yields its results as they are made, and raises its errors."""

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dragstrip.browsers.cpu import session_cpu_s
from dragstrip.execution.guest.boot import Guest, guest
from dragstrip.execution.guest.job import ALIVE, CAPSULE, ENDED, JOB, Job, read, result_file, write
from dragstrip.execution.guest.kernel.recipe import kernel
from dragstrip.model.clock import Clock
from dragstrip.testbed.errors import GuestEnded, TestbedError
from dragstrip.testbed.workspace import workspace

STILL_S = 120.0
"""How long a guest may compute, in CPU seconds of this machine, while virtual time stands still.
The time that a guest waits for a busy CPU does not count."""
_IDLE_TIMES = 10
"""Multiple of `STILL_S` after which a guest is killed that neither computes nor lets virtual time
pass."""
ENDLESS_S = 6 * 3600
"""Most virtual seconds without a result. If all processes only wait, they take as many real
seconds."""
_LOOK_S = 0.02
_LOOK_AT_CPU_S = 0.5


@contextlib.contextmanager
def guest_run(
    job: Job, clock: Clock, seed: int, artefacts: Path | None = None, still_s: float = STILL_S
) -> Iterator["GuestRun"]:
    """Start a guest on `job`; the guest ends with the context. `artefacts` is the capsule, to which
    the guest may write.

    Raises `TestbedError` if the guest cannot be started.
    """
    with workspace() as folder:
        if artefacts:
            (folder / CAPSULE).symlink_to(artefacts.absolute())
        write(folder, JOB, job)
        with guest(kernel(), folder, clock, seed, job.slowdown) as running:
            yield GuestRun(running, folder, job.about, still_s)


class GuestRun:
    """A running job, which `guest_run` starts. Its methods raise the guest's exception, and
    `GuestEnded` if the guest died or hangs."""

    def __init__(self, running: Guest, folder: Path, about: str, still_s: float) -> None:
        self._guest = running
        self._folder = folder
        self._about = about
        self._still_s = still_s

    def result(self, number: int) -> Any:
        """Wait for the result with this number, counted from 0."""
        if not self._await(result_file(number)):
            raise GuestEnded("the guest ended before its visits were made")
        return read(self._folder, result_file(number))

    def results(self) -> Iterator[Any]:
        """Yield all results, as they are made."""
        number = 0
        while self._await(result_file(number)):
            yield read(self._folder, result_file(number))
            number += 1

    def finish(self) -> None:
        """Wait until the guest has stored the artefacts that belong to no single result."""
        self._await(None)

    def _await(self, name: str | None) -> bool:
        """Wait for a file of the guest; False if the guest ended without an error and without the
        file."""
        beat, still = self._beat(), Standstill(self._guest.pid)
        latest = beat + ENDLESS_S
        while True:
            running, ended = self._guest.running, (self._folder / ENDED).exists()
            if name and (self._folder / name).exists():
                return True
            if ended:
                if error := read(self._folder, ENDED):
                    raise error
                return False
            if not running:
                raise GuestEnded(f"the guest ended: {self._guest.last_words()}")
            if (now := self._beat()) != beat:
                beat, still = now, Standstill(self._guest.pid)
                self._check_end(beat, latest)
            else:
                self._check_still(still)
            time.sleep(_LOOK_S)

    def _check_end(self, beat: int, latest: int) -> None:
        if beat > latest:
            raise GuestEnded(
                f"{self._about}: the guest waits for something that never happens: "
                f"{ENDLESS_S // 3600} hours of virtual time passed without a result"
            )

    def _check_still(self, still: "Standstill") -> None:
        computed_s, lasted_s = still.look()
        if computed_s > self._still_s:
            raise TestbedError(
                f"virtual time stood still in {self._about} while {self._still_s:.0f} s were "
                "computed: something in the page, the browser or the server computes forever, and "
                "only system calls and new memory take virtual time; race this page in real time"
            )
        if lasted_s > self._still_s * _IDLE_TIMES:
            raise GuestEnded(f"{self._about}: the guest did nothing for {lasted_s:.0f} s")

    def _beat(self) -> int:
        """Return the seconds of virtual time that have passed in the guest."""
        with contextlib.suppress(FileNotFoundError):
            return int((self._folder / ALIVE).read_bytes() or 0)
        return 0


class Standstill:
    """Measures how much CPU time a guest's processes have used since virtual time last moved."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._began = self._looked = time.monotonic()
        self._spent: dict[int, float] | None = None
        self._computed_s = 0.0

    def look(self) -> tuple[float, float]:
        """Return CPU seconds and elapsed seconds since virtual time last moved. Processes that
        start and end between two calls are missed."""
        now = time.monotonic()
        if now - self._looked > _LOOK_AT_CPU_S:
            spent = session_cpu_s(self._session)
            if self._spent is not None:
                known = self._spent
                self._computed_s += sum(s - known.get(pid, 0.0) for pid, s in spent.items())
            self._spent, self._looked = spent, now
        return self._computed_s, now - self._began
