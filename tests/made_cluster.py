"""A study on a cluster whose machines make visits without a testbed."""

import hashlib
import os
import random
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path

import msgspec

from dragstrip.execution.concurrency import Concurrency, RealTimeConcurrency
from dragstrip.execution.dask.executor import DaskExecutor
from dragstrip.execution.dask.machine_match import MachineMatch
from dragstrip.execution.dask.setup import Setup
from dragstrip.execution.executor import opened
from dragstrip.execution.guest.concurrency import GuestConcurrency
from dragstrip.execution.orders import SessionFactory
from dragstrip.execution.run import run
from dragstrip.model.calibration import Calibration, Tolerance
from dragstrip.model.study import Study
from dragstrip.results.aa_control import BLOCKS, AAControl, Round
from dragstrip.results.capsule import Capsule
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.results.machine import Machine
from dragstrip.results.manifest import Manifest, Start, now
from dragstrip.schedule.schedule import Schedule
from made_session import made_session

MACHINE = Machine(kernel="6.1", cpu="CPU", cores=64, memory_mb=8000, python="3.11")


def every_worker_a_machine(study: Study) -> Fingerprint:
    machine = msgspec.structs.replace(MACHINE, id=f"m{os.getpid()}")
    return Fingerprint(machine=machine, dragstrip="1", rules=1)


def one_is_odd(study: Study) -> Fingerprint:
    """A fingerprint with another browser on the worker that its environment names."""
    found = every_worker_a_machine(study)
    browser = "other" if os.environ.get("ODD") else "usual"
    return msgspec.structs.replace(found, browsers={"h2": browser})


def measured(study: Study) -> Calibration:
    return Calibration(readings=(), tolerance=Tolerance(), took_s=0.0, realtime=True)


def even(study: Study, seed: int) -> AAControl:
    """Loads of 300 ms that differ by some percent. A worker that is to lie holds the answers of the
    second name by 30 ms."""
    draw = random.Random(seed)
    times = [300 * draw.gauss(1, 0.02) for _ in range(2 * BLOCKS)]
    held = 30.0 if os.environ.get("LIE") else 0.0
    made = Round(
        a_ms=tuple(times[:BLOCKS]),
        b_ms=tuple(held + ms for ms in times[BLOCKS:]),
        visits=2 * BLOCKS,
        took_s=1.0,
    )
    return AAControl(stack="h2", page="made", network="made", rounds=(made,))


def one(study: Study) -> int:
    return 1


def session(pause_s: float, study: Study, folder: Path, pages: Collection[str]) -> SessionFactory:
    return partial(made_session, pause_s=pause_s, bad_share=0.05)


def sendable(study: Study, folder: Path) -> Study:
    """The study with a file for its only page, so that workers can be sent it. Unlike a page with
    other objects, this one agrees with the made visits."""
    file = folder / "made.har.zip"
    file.write_bytes(b"made")
    [page] = study.pages
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:12]
    page = msgspec.structs.replace(page, path=file, digest=digest)
    return msgspec.structs.replace(study, pages=(page,))


def run_on(
    address: str,
    out: Path,
    study: Study,
    *,
    pause_s: float = 0.004,
    fingerprint: Callable[[Study], Fingerprint] = every_worker_a_machine,
    admit_others: bool = False,
    independent: bool = False,
    tell: Callable[[str], None] = lambda sentence: None,
) -> None:
    """Do what `dragstrip run --cluster` does, without a testbed."""
    start = Start(
        started=now(),
        command=(),
        dragstrip_version="0.1.0",
        git=None,
        browser_version="",
        machine=MACHINE,
    )

    def concurrency(found: Fingerprint, slots: int) -> Concurrency:
        if independent:
            return GuestConcurrency(study, slots)
        return RealTimeConcurrency(study, slots, stagger_s=0.0, cores=64)

    with Capsule.create(out, Manifest(study=study, starts=(start,))) as capsule:
        schedule = Schedule(study, capsule.made(), continues=lambda _: False)
        executor = DaskExecutor(
            address,
            Setup(
                token=os.urandom(6).hex(),
                study=study,
                session=partial(session, pause_s),
                fingerprint=fingerprint,
                calibrate=measured,
                aa_control=even,
                most=one,
                independent=independent,
            ),
            schedule,
            capsule,
            MachineMatch(study.clock, admit_others=admit_others),
            concurrency=concurrency,
            said=tell,
        )
        last = len(study.visited) - 1
        with opened(executor):
            run(schedule, lambda v, _: capsule.append(v, sync=v.position == last), executor)
        capsule.finish()
