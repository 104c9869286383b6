"""How long the threads of a testbed waited for a CPU: the time they were ready to run and did not.

The kernel counts it for each thread (second field of /proc/PID/task/TID/schedstat, see
https://docs.kernel.org/scheduler/sched-stats.html). Which end of the link a process belongs to is
its network namespace, so any browser and any server is covered, and no other visit on the machine.
"""

import contextlib
import os
from collections.abc import Iterator

from dragstrip.testbed.net.namespaces import NamespaceName, Namespaces

ENDS: tuple[NamespaceName, NamespaceName] = ("client", "origin")

Waits = dict[tuple[NamespaceName, str], int]
"""Nanoseconds each thread has waited since it began, by the end it belongs to and its id."""


class RunQueue:
    """Starts when made; `longest_ms` covers the time since."""

    def __init__(self, spaces: Namespaces) -> None:
        self._proc = f"/proc/{spaces.keeper_pid}/root/proc"
        self._ends = {os.stat(spaces.path(where)).st_ino: where for where in ENDS}
        self._before = dict(self._look())

    def longest_ms(self) -> dict[NamespaceName, float]:
        """The wait of the one thread of each end that waited longest; a sum over threads would
        count what they wait for each other. An end without kernel data is missing.

        A thread that has ended meanwhile does not count.
        """
        longest: dict[NamespaceName, float] = {}
        for (where, thread), waited_ns in self._look():
            since_ms = (waited_ns - self._before.get((where, thread), 0)) / 1e6
            longest[where] = max(longest.get(where, 0.0), since_ms)
        return longest

    def _look(self) -> Iterator[tuple[tuple[NamespaceName, str], int]]:
        for process in os.listdir(self._proc):
            # Processes and threads come and go while they are looked at.
            with contextlib.suppress(OSError):
                if process.isdigit() and (where := self._end(process)):
                    yield from self._threads(where, f"{self._proc}/{process}/task")

    def _end(self, process: str) -> NamespaceName | None:
        return self._ends.get(os.stat(f"{self._proc}/{process}/ns/net").st_ino)

    def _threads(
        self, where: NamespaceName, folder: str
    ) -> Iterator[tuple[tuple[NamespaceName, str], int]]:
        for thread in os.listdir(folder):
            with contextlib.suppress(OSError), open(f"{folder}/{thread}/schedstat") as told:
                yield (where, thread), int(told.read().split()[1])
