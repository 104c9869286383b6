"""Measures how long the threads of a testbed ran, and how long they were ready to run but waited
for a CPU.

The kernel counts both for each thread (first and second field of /proc/PID/task/TID/schedstat, see
https://docs.kernel.org/scheduler/sched-stats.html). A process is identified by its network
namespace, so every browser and server is covered, and those of other visits are not.
"""

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from dragstrip.testbed.net.namespaces import NamespaceName, Namespaces
from dragstrip.testbed.proc_file import read_proc

PLACES: tuple[NamespaceName, ...] = ("client", "link", "origin")

Thread = tuple[NamespaceName, str]
"""The namespace that a thread belongs to, and its id."""


class ThreadTime(NamedTuple):
    """Times of a thread in ns, since the thread began or between two observations."""

    ran_ns: int = 0
    waited_ns: int = 0
    confined: bool = False
    """Whether its process has a separate PID namespace, as a `Program` has."""


class TestbedTime:
    """Times of a testbed's threads during an observation."""

    def __init__(self, spent: dict[Thread, ThreadTime]) -> None:
        self._spent = spent

    def longest_ms(self, where: NamespaceName) -> float | None:
        """Return the longest wait of a single thread in ms; None without kernel data. A sum would
        include threads that wait for each other."""
        waits = [spent.waited_ns / 1e6 for spent in self._of(where)]
        return max(waits, default=None)

    def ran_s(self, where: NamespaceName) -> float | None:
        """Return the CPU seconds of all threads in this namespace; None without kernel data."""
        return _sum_s(self._of(where))

    def confined_ran_s(self, where: NamespaceName) -> float | None:
        """Return the CPU seconds of the threads in this namespace whose processes have a separate
        PID namespace: of a server, without the origin behind it. None if there are none."""
        return _sum_s([spent for spent in self._of(where) if spent.confined])

    def _of(self, where: NamespaceName) -> list[ThreadTime]:
        return [spent for (place, _), spent in self._spent.items() if place == where]


def _sum_s(of: Sequence[ThreadTime]) -> float | None:
    return sum(spent.ran_ns for spent in of) / 1e9 if of else None


class RunQueue:
    """Observes threads from its creation on; `look` returns the threads' times since then."""

    def __init__(self, spaces: Namespaces) -> None:
        self._proc = f"/proc/{spaces.keeper_pid}/root/proc"
        self._shared = _pid_namespace(f"{self._proc}/1")
        self._places = {os.stat(spaces.path(where)).st_ino: where for where in PLACES}
        self._before = dict(self._look())

    def look(self) -> TestbedTime:
        """Return the times of each thread since the observation began. Threads that ended in
        between are missing."""
        return TestbedTime({thread: self._since(thread, now) for thread, now in self._look()})

    def _since(self, thread: Thread, now: ThreadTime) -> ThreadTime:
        before = self._before.get(thread, ThreadTime())
        return ThreadTime(
            now.ran_ns - before.ran_ns, now.waited_ns - before.waited_ns, now.confined
        )

    def _look(self) -> Iterator[tuple[Thread, ThreadTime]]:
        for process in os.listdir(self._proc):
            # Processes and threads may end while this reads them.
            with contextlib.suppress(OSError):
                if process.isdigit() and (where := self._place(process)):
                    yield from self._threads(where, f"{self._proc}/{process}")

    def _place(self, process: str) -> NamespaceName | None:
        return self._places.get(os.stat(f"{self._proc}/{process}/ns/net").st_ino)

    def _threads(self, where: NamespaceName, process: str) -> Iterator[tuple[Thread, ThreadTime]]:
        confined = _pid_namespace(process) != self._shared
        for thread in os.listdir(f"{process}/task"):
            with contextlib.suppress(OSError):
                ran, waited, *_ = read_proc(f"{process}/task/{thread}/schedstat").split()
                yield (where, thread), ThreadTime(int(ran), int(waited), confined)


def _pid_namespace(process: str) -> int:
    return os.stat(f"{process}/ns/pid").st_ino
