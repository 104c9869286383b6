"""What the machine was doing during a visit, from /proc/stat (proc(5))."""

import time
from pathlib import Path

from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import HostReport

_PATIENCE_S = 30.0
_SAMPLE_S = 1.0


class HostMeter:
    """Starts when made; `report` covers the time since."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._before = _cpu_ticks()

    def report(self) -> HostReport:
        spent = [now - then for now, then in zip(_cpu_ticks(), self._before, strict=True)]
        total = max(1, sum(spent))
        idle, iowait, steal = spent[3], spent[4], spent[7]
        return HostReport(
            wall_ms=(time.monotonic() - self._started) * 1000,
            busy_share=1 - (idle + iowait) / total,
            steal_share=steal / total,
        )


def await_quiet(limits: Thresholds) -> None:
    """Wait, at most `_PATIENCE_S`, until the hypervisor lets the machine be.

    Time is stolen in bursts of seconds to minutes; a rerun in the middle of one is wasted.
    """
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        meter = HostMeter()
        time.sleep(_SAMPLE_S)
        if meter.report().steal_share <= limits.steal_share:
            return


def _cpu_ticks() -> list[int]:
    """user, nice, system, idle, iowait, irq, softirq, steal; guest time is part of user."""
    with Path("/proc/stat").open() as stat:
        return [int(field) for field in stat.readline().split()[1:9]]
