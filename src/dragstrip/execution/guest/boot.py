"""A guest: user-mode Linux as one ordinary process of the caller's, whose clock is virtual.

It sees the caller's files, with the caller's rights, and cannot change them but in the folder of
its job and the capsule's. Everything random in it follows from its seed. Its command line, its
environment and the paths it sees are the same on every start, for the kernel stirs them into its
random numbers.
"""

import contextlib
import os
import shlex
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dragstrip.execution.guest.bytecode import SEEN_AT, bytecode
from dragstrip.execution.guest.job import CAPSULE
from dragstrip.model.clock import Clock
from dragstrip.testbed.cache import cache_folder
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.link import EXACT_TIMERS
from dragstrip.testbed.programs import PROGRAMS, program

MEMORY_MB = 6144
"""What a guest may use; it takes only what it needs."""
EPOCH_NS = 1_795_000_000_000_000_000
"""When virtual time begins, in every guest alike: 18 November 2026."""
_PACKAGE = Path(__file__).parents[2]
_SHARED = Path("/dev/shm")
_LAST_LINES = 3
_NO_RDRAND = f"~{1 << 62}"
"""Keeps BoringSSL, AWS-LC and OpenSSL from the processor's own random numbers, which no seed fixes.
In decimal, for the BoringSSL of old browsers reads no other. See OPENSSL_ia32cap(3)."""

# The shell stays, for the first process has to bury those that lost their parents: the namespaces
# of old browsers do not end before.
#
# The job's folder is the process's current folder: so its path, which differs from guest to guest,
# is nowhere in what the kernel is told. hostfs follows /proc/self/cwd outside the guest.
#
# What is installed is reached by the same names everywhere: the length of an argument or of the
# environment changes a program's course.
_INIT = """#!/bin/sh
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t tmpfs tmpfs /run
mount -t tmpfs tmpfs /mnt
mkdir -p /dev/shm && mount -t tmpfs tmpfs /dev/shm
mkdir -p /mnt/job /mnt/capsule /mnt/home/.cache /mnt/tmp
mount -t hostfs none /mnt/job -o /proc/self/cwd
[ ! -L /mnt/job/{capsule} ] || mount -t hostfs none /mnt/capsule -o /proc/self/cwd/{capsule}
ip link set lo up
ln -s {bytecode} /mnt/home/bytecode
ln -s {package} /mnt/home/dragstrip
ln -s {programs} /mnt/home/programs
ln -s {python} /mnt/home/python
export {programs_are_in}=/mnt/home/programs
export PYTHONPYCACHEPREFIX=/mnt/home/bytecode PYTHONDONTWRITEBYTECODE=1
export HOME=/mnt/home TMPDIR=/mnt/tmp {exact}=1
export OPENSSL_ia32cap='{no_rdrand}'
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ln -s {cache} /mnt/home/.cache/dragstrip
cd /mnt/home
env PYTHONPATH={path} {python} -m dragstrip.execution.guest.inside /mnt/job /mnt/capsule
"""


class Guest:
    """A running guest, which `guest` starts."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._process = process
        self._folder = folder
        self.pid = process.pid
        """The first of its session, too: all of the guest's processes are in it."""

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def last_words(self) -> str:
        """The end of what its kernel said, in one line."""
        said = (self._folder / "console").read_text(errors="replace").strip().splitlines()
        return " ".join(line.strip() for line in said[-_LAST_LINES:]) or "it said nothing"


@contextlib.contextmanager
def guest(kernel: Path, folder: Path, clock: Clock, seed: int) -> Iterator[Guest]:
    """Start a guest on the job in `folder`; it is gone when this ends, however that happens.

    Raises `TestbedError` if it cannot be started.
    """
    init = folder / "init"
    init.write_text(_init())
    init.chmod(0o755)
    command = [
        str(kernel),
        f"mem={MEMORY_MB}M",
        *"root=/dev/root rootfstype=hostfs rootflags=/ ro init=/proc/self/cwd/init".split(),
        *"con=null con0=fd:0,fd:1 quiet seccomp=on random.trust_bootloader=on".split(),
        "time-travel=inf-cpu",
        f"time-travel-start={EPOCH_NS}",
        *(f"dragstrip_{what}_ns={ns}" for what, ns in clock.prices_ns.items()),
    ]
    with _core() as core, (folder / "console").open("wb") as console:
        pinned = ["setpriv", "--pdeathsig", "KILL", "taskset", "--cpu-list", str(core)]
        try:
            process = subprocess.Popen(
                [*pinned, *command],
                cwd=folder,
                env=_environment(folder, seed),
                stdin=subprocess.DEVNULL,
                stdout=console,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise TestbedError(f"cannot start a guest: {error}") from None
        try:
            yield Guest(process, folder)
        finally:
            process.kill()
            process.wait()


def _init() -> str:
    needed = _needed()
    told = {
        "bytecode": bytecode(needed),
        "cache": cache_folder("").absolute(),
        "package": _PACKAGE,
        "path": ":".join([SEEN_AT, *needed]),
        "programs": Path(program("dragstrip-link")).parent,
        "python": sys.executable,
    }
    return _INIT.format(
        capsule=CAPSULE,
        exact=EXACT_TIMERS,
        no_rdrand=_NO_RDRAND,
        programs_are_in=PROGRAMS,
        **{name: shlex.quote(str(value)) for name, value in told.items()},
    )


def _needed() -> list[str]:
    """Folders to add to PYTHONPATH so that Python finds what this package needs.

    They follow from what is installed, not from the caller's path: a command, a test and a
    cluster's worker have different paths, and must get the same bytes.
    """
    needed = Path(msgspec.__file__).parents[1]
    return [] if needed.is_relative_to(sys.prefix) else [str(needed)]


def _environment(folder: Path, seed: int) -> dict[str, str]:
    """A guest's memory is a file without a name, in memory where there is room for it."""
    environment = {"DRAGSTRIP_SEED": str(seed), "HOME": "/proc/self/cwd", "PATH": os.defpath}
    with contextlib.suppress(OSError):
        there = os.statvfs(_SHARED)
        if there.f_bavail * there.f_frsize >= MEMORY_MB << 20:
            return environment
    return environment | {"TMPDIR": str(folder)}


@contextlib.contextmanager
def _core() -> Iterator[int]:
    """A core that no other guest is pinned to, as long as there is one.

    A guest is one thread and its clock stands still while it waits: moving it from core to core
    makes it three times slower, and changes no result. A guest reserves its core by the name of a
    socket. A lock file would not do: programs with different temporary folders share the cores too.
    """
    cores = sorted(os.sched_getaffinity(0), reverse=True)
    with socket.socket(socket.AF_UNIX) as name:
        yield next(
            (core for core in cores if _named(name, f"dragstrip-core-{core}")),
            cores[time.time_ns() // 1000 % len(cores)],
        )


def _named(free: socket.socket, name: str) -> bool:
    """Whether the socket got the name, which no other on this machine has until it closes."""
    try:
        free.bind(f"\0{name}")
    except OSError:
        return False
    return True
