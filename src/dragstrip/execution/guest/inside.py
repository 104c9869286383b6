"""The program that a guest runs: does a job, then switches the guest off.

Run as `python -m dragstrip.execution.guest.inside FOLDER CAPSULE`. FOLDER is described in
`dragstrip.execution.guest.job`.
"""

import ctypes
import itertools
import os
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec import structs

from dragstrip.execution.guest.job import (
    ALIVE,
    ENDED,
    INSTALLED,
    JOB,
    BlockJob,
    CheckJob,
    Job,
    hand_over,
    read,
    result_file,
    write,
)
from dragstrip.execution.guest.settle import settle
from dragstrip.execution.orders import VisitOrder
from dragstrip.execution.session import visit_session
from dragstrip.model.clock import NETWORK
from dragstrip.model.errors import DragstripError
from dragstrip.testbed.errors import TestbedError

_POWER_OFF = 0x4321FEDC
"""LINUX_REBOOT_CMD_POWER_OFF, see reboot(2)."""
_BEAT_S = 1.0
PYTHON = "/mnt/home/python"
"""A link to the interpreter, see `dragstrip.execution.guest.boot`."""
_SCRATCH = Path("/mnt/tmp")
_SHOWN_AT = dict(zip(INSTALLED, ("/mnt/home/programs", "/mnt/home/.cache/dragstrip"), strict=True))
"""Where to mount the folders of this installation."""


def main(folder: Path, capsule: Path) -> None:
    job = read(folder, JOB)
    for what, shown in _SHOWN_AT.items():
        _show(what, shown)
    os.environ.pop("PYTHONPATH", None)  # programs get the same environment everywhere,
    sys.executable = PYTHON  # and the same arguments
    if isinstance(job, BlockJob) and job.study.clock.prices_ns:
        _go_first()
    settle(_SCRATCH)
    threading.Thread(target=_beat, args=(folder / ALIVE,), daemon=True).start()
    ended: Exception | None = None
    try:
        for number, result in enumerate(_results(job, capsule)):
            os.sync()  # the visit's files are on disk before its result is
            write(folder, result_file(number), result)
    except DragstripError as error:
        ended = error
    except Exception as error:  # whatever the error is, the guest's owner must receive it
        ended = TestbedError(f"the guest failed: {type(error).__name__}: {error}")
    os.sync()
    write(folder, ENDED, ended)


def _show(what: str, shown: str) -> None:
    """Mount an installed folder at the path `shown`. A folder that is not installed is left out."""
    link = f"/proc/self/cwd/{what}".encode()
    ctypes.CDLL(None).mount(b"none", shown.encode(), b"hostfs", 0, link)


def _go_first() -> None:
    """Give this program real-time priority, like that of the link. The program measures browsers,
    so it must not wait for them. Programs that it starts do not inherit the priority."""
    rank = os.sched_param(os.sched_get_priority_min(os.SCHED_FIFO))
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, rank)


def _results(job: Job, capsule: Path) -> Iterator[Any]:
    match job:
        case BlockJob():
            as_fast = structs.replace(job.study.client, cpu_slowdown=1.0)
            study = structs.replace(job.study, client=as_fast)
            with visit_session(study, capsule if job.artefacts else None) as visit:
                for block in job.blocks:
                    for stack in block.order:
                        settle(_SCRATCH)
                        yield visit(VisitOrder(block=block, attempt=job.attempt, stack=stack))
        case CheckJob():
            from dragstrip.verdict.page_check import (
                check,  # the module that holds pictures loads slowly
            )

            yield from check(job.page, job.client, NETWORK, job.browser)


def _beat(alive: Path) -> None:
    with alive.open("wb", buffering=0) as file:
        for beat in itertools.count():
            os.pwrite(file.fileno(), str(beat).encode(), 0)
            hand_over(file.fileno())
            time.sleep(_BEAT_S)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    finally:
        os.sync()
        ctypes.CDLL(None).reboot(_POWER_OFF)
