"""Removes the traces of a guest's start from its clock and its random numbers.

Looking for a missing file takes 1 us of virtual time, so the duration of Python's start depends on
the installation. The number of random numbers drawn depends on Python's version.
"""

import ctypes
import fcntl
import os
import stat
import time
from pathlib import Path

_STEP_NS = 1_000_000_000
"""The guest waits until a multiple of this time (ns) since its start. Idle time passes at once."""
_BEFORE_NS = 10_000_000
_SOON_NS = 300_000
"""Time in ns before the kernel's next tick, for which the clock before settling has set a timer. A
timer that expires sooner makes the kernel set the tick again."""
_READING_NS = 256
"""Time in ns that a reading of the clock takes, see
`dragstrip/execution/guest/kernel/rules.toml`."""
_TIMER_ABSTIME = 1
_RANDOM = (1, 8)
"""Major and minor number of /dev/random, which the guest's root may lack."""
_RESEED = 0x5207
"""RNDRESEEDCRNG, see random(4)."""


def settle(scratch: Path) -> None:
    """Wait for the next full second since the guest's start. Then reseed the kernel's random
    numbers, so that earlier draws do not matter. `scratch` is a folder for a device file."""
    now = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    until = (now + _BEFORE_NS) // _STEP_NS * _STEP_NS + _STEP_NS
    _wait(until - _BEFORE_NS)
    _round_up()
    _wait(until - _BEFORE_NS + _SOON_NS)
    _wait(until)
    device = scratch / "random"
    if not device.exists():
        os.mknod(device, 0o600 | stat.S_IFCHR, os.makedev(*_RANDOM))
    with device.open("rb", buffering=0) as file:
        fcntl.ioctl(file, _RESEED)


def _wait(until_ns: int) -> None:
    until = (ctypes.c_long * 2)(*divmod(until_ns, 10**9))
    ctypes.CDLL(None).clock_nanosleep(time.CLOCK_MONOTONIC, _TIMER_ABSTIME, until, None)


def _round_up() -> None:
    """Advance the time to a multiple of `_READING_NS`.

    The kernel sets timers relative to the clock, so any remainder would stay forever. Programs of a
    guest advance the time in a page that they share with the kernel.
    """
    for line in Path("/proc/self/maps").read_text().splitlines():
        if line.endswith("[vvar]"):
            now = ctypes.c_uint64.from_address(int(line.partition("-")[0], 16))
            now.value += -now.value % _READING_NS
