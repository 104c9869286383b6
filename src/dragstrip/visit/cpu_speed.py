"""Reads the CPUs' frequency limits and thermal throttling, if the kernel reports them.

Most virtual machines report nothing. Sources: cpufreq
(https://docs.kernel.org/admin-guide/pm/cpufreq.html: a cooling device lowers `scaling_max_freq`)
and the counters of x86's thermal interrupts (Linux, arch/x86/kernel/cpu/mce/therm_throt.c;
Documentation/ABI/testing/sysfs-devices-system-cpu).
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

CPUS = Path("/sys/devices/system/cpu")
_KHZ_PER_MHZ = 1000


class CpuSpeed:
    """Observes the CPUs from its creation; `report` covers the time since."""

    def __init__(self, cpus: Path = CPUS) -> None:
        self._cpus = cpus
        self._limit_mhz = self._least_limit_mhz()
        self._throttled = self._throttles()

    def report(self) -> dict[str, Any]:
        """Return the fields `cpu_mhz`, `cpu_limit_mhz` and `throttled` of `HostReport`."""
        limits = [mhz for mhz in (self._limit_mhz, self._least_limit_mhz()) if mhz is not None]
        before, after = self._throttled, self._throttles()
        return {
            "cpu_mhz": max(self._mhz("scaling_cur_freq"), default=None),
            "cpu_limit_mhz": min(limits, default=None),
            "throttled": None if before is None or after is None else after - before,
        }

    def _least_limit_mhz(self) -> float | None:
        return min(self._mhz("scaling_max_freq"), default=None)

    def _mhz(self, name: str) -> Iterator[float]:
        return (khz / _KHZ_PER_MHZ for khz in self._numbers(f"cpufreq/{name}"))

    def _throttles(self) -> int | None:
        """Return how often this machine was throttled. Each core counts its own throttles, and all
        cores of a package report the package's count."""
        cores = list(self._numbers("thermal_throttle/core_throttle_count"))
        packages = list(self._numbers("thermal_throttle/package_throttle_count"))
        return sum(cores) + max(packages, default=0) if cores or packages else None

    def _numbers(self, name: str) -> Iterator[int]:
        for file in self._cpus.glob(f"cpu[0-9]*/{name}"):
            with contextlib.suppress(OSError, ValueError):
                yield int(file.read_text())
