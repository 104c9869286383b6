"""Gives browser and server precedence: on a busy machine they get a CPU before other processes.

Under round robin scheduling (sched(7)), a thread that is ready runs at once and displaces any
thread of ordinary processes. No niceness does that. The kernel reserves a twentieth of each second
for other processes (/proc/sys/kernel/sched_rt_runtime_us), so they are delayed but never stopped.

On a quiet machine precedence would do harm: a page that computes for seconds would pause for these
50 ms in each second.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from dragstrip.testbed.net.namespaces import NamespaceName, Namespaces

_RANKS: dict[NamespaceName, int] = {"client": 1, "origin": 2}
"""Ranks of real-time priority. The origin would be a separate machine, so it comes before the
browser. The link sets its own rank, above both. These are the lowest ranks, so real-time processes
of the kernel and the administrator stay above ours."""
_OURS = 1
"""Rank of the process that drives the visit, and of processes that it starts."""
_KEPT_FOR_OTHERS = Path("/proc/sys/kernel/sched_rt_runtime_us")


class Precedence:
    """Manages the precedence of a testbed's browsers and servers, and of this thread, which drives
    them."""

    def __init__(self, spaces: Namespaces) -> None:
        self._ranks = {os.stat(spaces.path(where)).st_ino: rank for where, rank in _RANKS.items()}
        self._may = not _others_would_starve()
        self.taken = False

    def keep(self, wanted: bool) -> None:
        """Take precedence if `wanted`, otherwise give it back. Only root may do either, unless
        RLIMIT_RTPRIO allows it; without permission nothing changes."""
        if wanted == self.taken or not self._may:
            return
        try:
            _schedule(0, _OURS if wanted else 0)
        except OSError:
            self._may = False
            return
        self.taken = wanted
        for thread, rank in self._threads():
            with contextlib.suppress(OSError):  # threads come and go
                _schedule(thread, rank if wanted else 0)

    def _threads(self) -> Iterator[tuple[int, int]]:
        """Yield all threads of browsers and servers, each with its rank."""
        for process in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if process.isdigit():
                    space = os.stat(f"/proc/{process}/ns/net").st_ino
                    if rank := self._ranks.get(space):
                        for thread in os.listdir(f"/proc/{process}/task"):
                            yield int(thread), rank


@contextlib.contextmanager
def precedence(spaces: Namespaces) -> Iterator[Precedence]:
    """Open a context that manages the precedence of a testbed. At its end the precedence is given
    back."""
    made = Precedence(spaces)
    try:
        yield made
    finally:
        made.keep(False)


def has_precedence() -> bool:
    """Return whether this thread, and so every process that it starts, has precedence over ordinary
    processes."""
    return os.sched_getscheduler(0) == os.SCHED_RR


def _schedule(thread: int, rank: int) -> None:
    """Set the real-time rank of a thread. Rank 0 makes it an ordinary thread."""
    policy = os.SCHED_RR if rank else os.SCHED_OTHER
    os.sched_setscheduler(thread, policy, os.sched_param(rank))


def _others_would_starve() -> bool:
    try:
        return int(_KEPT_FOR_OTHERS.read_text()) < 0
    except (OSError, ValueError):
        return True
