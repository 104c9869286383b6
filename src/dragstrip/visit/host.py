"""Observes the machine during a visit, by /proc/stat (proc(5)) and its clocks."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import HostReport
from dragstrip.testbed.precedence import has_precedence
from dragstrip.visit.cpu_speed import CpuSpeed

_SAMPLE_S = 1.0
_CLOCK_READINGS = 5
_SOFTNET = Path("/proc/net/softnet_stat")


class HostMeter:
    """Observes the machine from its creation; `report` covers the time since."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._itself_s = time.process_time()
        self._before = _cpu_ticks()
        self._clock_ahead_ms = clock_ahead_ms()
        self._backlog = _backlog()
        self._speed = CpuSpeed()

    def report(self) -> HostReport:
        spent = [now - then for now, then in zip(_cpu_ticks(), self._before, strict=True)]
        total = max(1, sum(spent))
        idle, iowait, irq, softirq, steal = spent[3:8]
        dropped, squeezed = (
            None if now is None or then is None else now - then
            for now, then in zip(_backlog(), self._backlog, strict=True)
        )
        return HostReport(
            wall_ms=(time.monotonic() - self._started) * 1000,
            busy_share=1 - (idle + iowait) / total,
            steal_share=steal / total,
            interrupts_share=(irq + softirq) / total,
            dragstrip_cpu_s=time.process_time() - self._itself_s,
            clock_jump_ms=clock_ahead_ms() - self._clock_ahead_ms,
            precedence=has_precedence(),
            backlog_dropped=dropped,
            backlog_squeezed=squeezed,
            **self._speed.report(),
        )


def others_share(
    host: HostReport, browser_cpu_s: float | None, server_cpu_s: float | None
) -> float | None:
    """Return the share of all cores' time in `host` that was busy, but not with browser or
    server."""
    if browser_cpu_s is None:
        return None
    return max(0.0, host.busy_share - (browser_cpu_s + (server_cpu_s or 0.0)) / _all_s(host))


def outside_cpu_s(host: HostReport) -> float | None:
    """Return the CPU seconds in `host` that neither the testbed (browser, server, link, dragstrip)
    used, nor interrupts, which carry its packets. None if the browser's or the link's share is
    unknown."""
    if host.others_share is None or host.link_cpu_s is None:
        return None
    others_s = (host.others_share - (host.interrupts_share or 0.0)) * _all_s(host)
    return max(0.0, others_s - host.link_cpu_s - (host.dragstrip_cpu_s or 0.0))


def outside_share(host: HostReport) -> float | None:
    """Return the share of all cores' time in `host` that nothing of this testbed used; None if
    unknown."""
    return None if host.outside_cpu_s is None else host.outside_cpu_s / _all_s(host)


def _all_s(host: HostReport) -> float:
    return host.wall_ms / 1000 * (os.cpu_count() or 1)


def clock_ahead_ms() -> float:
    """Return the time in ms by which CLOCK_REALTIME is ahead of CLOCK_MONOTONIC_RAW.

    The quickest of a few readings counts: if the process loses its CPU during a reading, the clock
    seems to jump.
    """
    return min(_clock_readings())[1]


def _clock_readings() -> Iterator[tuple[int, float]]:
    for _ in range(_CLOCK_READINGS):
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        clock = time.clock_gettime_ns(time.CLOCK_REALTIME)
        after = time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW)
        yield after - before, (clock - (before + after) / 2) / 1e6


class Patience:
    """Waits for a quiet machine. One wait takes at most `at_once_s`; all waits together take at
    most `at_most_s` plus the `share` of the time since the object was made.

    CPU time is stolen in bursts of seconds to minutes, and a rerun during a burst is wasted. On a
    machine that is never quiet, waiting is wasted instead.
    """

    def __init__(
        self, *, at_once_s: float = 30.0, at_most_s: float = 60.0, share: float = 0.1
    ) -> None:
        self._at_once_s = at_once_s
        self._at_most_s = at_most_s
        self._share = share
        self._made = time.monotonic()
        self._waited_s = 0.0

    def left_s(self) -> float:
        """Return the seconds that may still be spent waiting; zero or less if none are left."""
        return self._at_most_s + self._share * (time.monotonic() - self._made) - self._waited_s

    def await_quiet(self, limits: Thresholds) -> None:
        """Return when the machine is quiet, or when the time to wait is used up."""
        began = time.monotonic()
        until = began + min(self._at_once_s, self.left_s())
        while time.monotonic() < until:
            meter = HostMeter()
            time.sleep(_SAMPLE_S)
            seen = meter.report()
            if seen.steal_share <= limits.steal_share and seen.busy_share <= limits.others_share:
                break
        self._waited_s += time.monotonic() - began


def _cpu_ticks() -> list[int]:
    """Return the CPU ticks as user, nice, system, idle, iowait, irq, softirq, steal. Guest time is
    included in user."""
    with Path("/proc/stat").open() as stat:
        return [int(field) for field in stat.readline().split()[1:9]]


def _backlog() -> tuple[int | None, int | None]:
    """Return the packets dropped and the times squeezed, over all CPUs: the second and third
    hexadecimal number of each line (softnet_seq_show in net/core/net-procfs.c). None if the kernel
    does not report them."""
    try:
        lines = [line.split() for line in _SOFTNET.read_text().splitlines()]
    except OSError:
        return None, None
    return sum(int(line[1], 16) for line in lines), sum(int(line[2], 16) for line in lines)
