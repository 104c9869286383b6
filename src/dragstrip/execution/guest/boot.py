"""Starts a guest: user-mode Linux as an ordinary process of the caller, with a virtual clock.

A guest reads the caller's files with the caller's rights. It can write only to the folders of its
job and of the capsule. All its random numbers follow from its seed. Its command line, environment
and paths are the same on every start, because the kernel mixes them into its random numbers.
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
from dragstrip.execution.guest.job import CAPSULE, INSTALLED
from dragstrip.model.clock import Clock
from dragstrip.testbed.cache import cache_folder
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.net.link import EXACT_TIMERS
from dragstrip.testbed.programs import PROGRAMS, program

MEMORY_MB = 6144
"""Memory limit of a guest in MB. A guest takes only what it needs."""
EPOCH_NS = 1_795_000_000_000_000_000
"""Start of virtual time in every guest, ns of the Unix epoch: 18 November 2026."""
_PACKAGE = Path(__file__).parents[2]
_PACKAGES = Path(msgspec.__file__).parents[1]
"""The folder of the packages that dragstrip needs, under the name by which their code was compiled.
It depends on the installation and not on the caller's path: a command, a test and a cluster's
worker have different paths, but their guests must give the same bytes. Python is called by a link
outside its environment, so it finds no other packages: what its environment holds would show in its
memory."""
_SHARED = Path("/dev/shm")
_INSTALLED_PROGRAMS, _INSTALLED_CACHE = INSTALLED
_LAST_LINES = 3
_NO_RDRAND = f"~{1 << 62}"
"""Stops BoringSSL, AWS-LC and OpenSSL from using the processor's random numbers, which no seed
determines. The number is decimal, because the BoringSSL of old browsers reads no other form. See
OPENSSL_ia32cap(3)."""

# The shell stays, because the first process has to reap orphans: otherwise the namespaces of old
# browsers would not end.
#
# The job's folder is the process's current folder. Its path differs between guests, and this keeps
# that path out of everything the kernel reads. hostfs follows /proc/self/cwd outside the guest.
#
# Every guest reaches installed files by the same paths, because the length of an argument or of the
# environment changes a program's course. The length of a program's own path does so too: glibc
# reads the path in /proc/self/maps, which shows the target of a link. /proc/self/mountinfo shows
# the source of a bind mount, and /proc/PID/cmdline the path of a program. So Python is called by a
# link, and `dragstrip.execution.guest.inside` mounts installed folders through links in the job's
# folder.
_INIT = """#!/bin/sh
{free}mount -t proc proc /proc
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
mkdir /mnt/home/programs /mnt/home/.cache/dragstrip
ln -s {python} /mnt/home/python
export {programs_are_in}=/mnt/home/programs
export PYTHONPYCACHEPREFIX=/mnt/home/bytecode PYTHONDONTWRITEBYTECODE=1
export HOME=/mnt/home TMPDIR=/mnt/tmp {exact}=1
export OPENSSL_ia32cap='{no_rdrand}'
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /mnt/home
export PYTHONPATH={path}
{reset}/mnt/home/python -m dragstrip.execution.guest.inside /mnt/job /mnt/capsule
"""
_FREE = "chrt --batch --pid 0 $$\n"
_RESET = "chrt --batch --reset-on-fork 0 "
"""Prefix of a command that runs as a batch process. Where computing takes time, a batch process
pays no price (rules.toml of the kernel). What prepares the guest runs like this, and so does the
program that measures. So their start, which depends on what is installed, moves no clock. Programs
that they start are not batch processes and pay."""


class Guest:
    """A running guest, which `guest` starts."""

    def __init__(self, process: "subprocess.Popen[bytes]", folder: Path) -> None:
        self._process = process
        self._folder = folder
        self.pid = process.pid
        """Process id of the guest, which is also the session id of all its processes."""

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def last_words(self) -> str:
        """Return the last lines that the guest's kernel printed, as one line."""
        said = (self._folder / "console").read_text(errors="replace").strip().splitlines()
        return " ".join(line.strip() for line in said[-_LAST_LINES:]) or "it said nothing"


@contextlib.contextmanager
def guest(
    kernel: Path, folder: Path, clock: Clock, seed: int, slowdown: float = 1.0
) -> Iterator[Guest]:
    """Start a guest on the job in `folder`, and kill it at the end of the context. Computing costs
    its browsers `slowdown` times the clock's prices.

    Raises `TestbedError` if the guest cannot be started.
    """
    init = folder / "init"
    init.write_text(_init(clock))
    init.chmod(0o755)
    (folder / _INSTALLED_PROGRAMS).symlink_to(Path(program("dragstrip-link")).parent)
    (folder / _INSTALLED_CACHE).symlink_to(cache_folder("").absolute())
    command = [
        str(kernel),
        f"mem={MEMORY_MB}M",
        *"root=/dev/root rootfstype=hostfs rootflags=/ ro init=/proc/self/cwd/init".split(),
        *"con=null con0=fd:0,fd:1 quiet seccomp=on random.trust_bootloader=on".split(),
        "time-travel=inf-cpu",
        f"time-travel-start={EPOCH_NS}",
        *(f"dragstrip_{what}_ns={ns}" for what, ns in clock.prices_ns.items()),
        *([f"dragstrip_client_percent={slowdown * 100:.0f}"] if slowdown > 1 else []),
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


def _init(clock: Clock) -> str:
    values = {
        "bytecode": bytecode(_PACKAGES),
        "package": _PACKAGE,
        "path": f"{SEEN_AT}:{_PACKAGES}",
        "python": sys.executable,
    }
    return _INIT.format(
        capsule=CAPSULE,
        exact=EXACT_TIMERS,
        no_rdrand=_NO_RDRAND,
        free=_FREE if clock.prices_ns else "",
        reset=_RESET if clock.prices_ns else "",
        programs_are_in=PROGRAMS,
        **{name: shlex.quote(str(value)) for name, value in values.items()},
    )


def _environment(folder: Path, seed: int) -> dict[str, str]:
    """Return the environment variables of a guest. The guest's memory is an unnamed file: in shared
    memory if there is room for it, else in `folder`."""
    environment = {"DRAGSTRIP_SEED": str(seed), "HOME": "/proc/self/cwd", "PATH": os.defpath}
    with contextlib.suppress(OSError):
        there = os.statvfs(_SHARED)
        if there.f_bavail * there.f_frsize >= MEMORY_MB << 20:
            return environment
    return environment | {"TMPDIR": str(folder)}


@contextlib.contextmanager
def _core() -> Iterator[int]:
    """Yield a core for a guest; if possible one that no other guest uses.

    A guest is one thread. Moving it from core to core makes it three times slower, but changes no
    result. A guest reserves its core by binding a socket to a name. A lock file would not do,
    because programs with different temporary folders share the cores too.
    """
    cores = sorted(os.sched_getaffinity(0), reverse=True)
    with socket.socket(socket.AF_UNIX) as name:
        yield next(
            (core for core in cores if _named(name, f"dragstrip-core-{core}")),
            cores[time.time_ns() // 1000 % len(cores)],
        )


def _named(free: socket.socket, name: str) -> bool:
    """Bind the socket to the name; False if another socket on this machine holds it."""
    try:
        free.bind(f"\0{name}")
    except OSError:
        return False
    return True
