"""The program that a guest runs: makes the visits of its job, then switches the guest off.

Run as `python -m dragstrip.virtual.inside FOLDER CAPSULE`; see `dragstrip.virtual.job` for the
folder.
"""

import ctypes
import itertools
import os
import sys
import threading
import time
from pathlib import Path

from dragstrip.browsers.cdp import CdpError
from dragstrip.model.errors import InputError
from dragstrip.schedule.place import in_testbed
from dragstrip.schedule.worker import Order
from dragstrip.testbed.errors import TestbedError
from dragstrip.virtual.job import ALIVE, ENDED, JOB, Job, read, visit_file, write

_POWER_OFF = 0x4321FEDC
"""LINUX_REBOOT_CMD_POWER_OFF, see reboot(2)."""
_BEAT_S = 1.0


def main(folder: Path, capsule: Path) -> None:
    threading.Thread(target=_beat, args=(folder / ALIVE,), daemon=True).start()
    ended: Exception | None = None
    try:
        _make(folder, capsule, read(folder, JOB))
    except (CdpError, TestbedError, InputError) as error:
        ended = error
    except Exception as error:  # whatever it is, the owner must hear of it
        ended = TestbedError(f"the guest failed: {type(error).__name__}: {error}")
    os.sync()
    write(folder, ENDED, ended)


def _make(folder: Path, capsule: Path, job: Job) -> None:
    with in_testbed(job.study, capsule if job.artefacts else None) as visit:
        for position, stack in enumerate(job.block.order):
            made = visit(Order(block=job.block, attempt=job.attempt, stack=stack))
            os.sync()  # what belongs to the visit is there before it is
            write(folder, visit_file(position), made)


def _beat(alive: Path) -> None:
    with alive.open("wb", buffering=0) as file:
        for beat in itertools.count():
            os.pwrite(file.fileno(), str(beat).encode(), 0)
            os.fsync(file.fileno())
            time.sleep(_BEAT_S)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), Path(sys.argv[2]))
    finally:
        os.sync()
        ctypes.CDLL(None).reboot(_POWER_OFF)
