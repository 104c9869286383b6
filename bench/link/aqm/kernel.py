"""The kernel's own queues in a program that replays arrivals.

net/sched/sch_*.c are compiled by the kernel's build from the sources of the guest's kernel, without
a change. `host.c` gives them time, timers and random numbers, and `line.c` is the line behind them.
"""

import shutil
import struct
import subprocess
from collections.abc import Iterable
from pathlib import Path

from dragstrip.execution.guest.kernel.recipe import rules
from dragstrip.execution.guest.kernel.sources import sources
from dragstrip.testbed.legacy.rewrite import rewrite

HERE = Path(__file__).parent
_QUEUES = ("codel", "dualpi2", "fifo", "fq_codel", "fq_pie", "pie", "red")
_OBJECTS = [f"net/sched/sch_{queue}.o" for queue in _QUEUES]
_OTHERS = ["net/sched/host.o", "lib/nlattr.o", "lib/math/reciprocal_div.o"]


def line(folder: Path, given: Path | None) -> Path:
    """The program in `folder`, built there first if it is missing. `given` is a package or archive
    of the kernel's sources; None fetches Debian's."""
    program = folder / "line"
    if program.exists():
        return program
    shutil.rmtree(folder, ignore_errors=True)
    work, objects = folder / "work", folder / "objects"
    work.mkdir(parents=True)
    objects.mkdir()
    tree = sources(work, given, lambda _: None)
    rewrite(rules(), tree)
    for name in ("host.c", "host.h"):
        shutil.copy(HERE / name, tree / "net/sched")

    def make(*words: str) -> None:
        ran(["make", "-s", "-C", str(tree), f"O={objects}", "ARCH=um", *words], objects)

    make("defconfig")
    wanted = ["NET_SCHED", *(f"NET_SCH_{queue.upper()}" for queue in _QUEUES)]
    switches = [word for name in wanted for word in ("--enable", name)]
    ran([str(tree / "scripts/config"), "--file", ".config", *switches], objects)
    make("olddefconfig")
    make(*_OBJECTS, *_OTHERS)
    for name in _OBJECTS:
        ran(["objcopy", "--rename-section", ".initcall6.init=initcalls", name], objects)
    # A queue refers to much that a replay never calls.
    link = ["gcc", "-O2", "-no-pie", "-Wl,--unresolved-symbols=ignore-all", "-o", str(program)]
    ran([*link, f"-I{HERE}", str(HERE / "line.c"), *_OBJECTS, *_OTHERS], objects)
    shutil.rmtree(work)
    return program


def ran(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:4])} ...: {done.stderr[-2000:]}")


def numbers(pairs: Iterable[tuple[int, int]]) -> str:
    """Netlink attributes of 32 bits, in hexadecimal digits."""
    return b"".join(struct.pack("=HHI", 8, kind, value) for kind, value in pairs).hex()


def blob(kind: int, data: bytes) -> str:
    return (struct.pack("=HH", 4 + len(data), kind) + data + bytes(-len(data) % 4)).hex()
