"""Reads the CPU time of a browser's processes from /proc (proc(5)), which works for every
browser."""

import contextlib
import os
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def session_cpu_s(session: int) -> dict[int, float]:
    """Return the CPU seconds of each process of a session (setsid(2)), by process id. Threads that
    ended count, processes that ended do not."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks = int(fields[11]) + int(fields[12])
                found[int(stat.parent.name)] = ticks / _TICKS_PER_S
    return found
