"""Reads the CPU time of a browser's processes from /proc (proc(5)), which works for every
browser."""

import contextlib
import os

from dragstrip.testbed.proc_file import read_proc

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def session_cpu_s(session: int) -> dict[int, float]:
    """Return the CPU seconds of each process of a session (setsid(2)), by process id. Threads that
    ended count, processes that ended do not."""
    found = {}
    for process in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            fields = read_proc(f"/proc/{process}/stat").rpartition(")")[2].split()
            if int(fields[3]) == session:
                ticks = int(fields[11]) + int(fields[12])
                found[int(process)] = ticks / _TICKS_PER_S
    return found
