"""A study's visits on the workers of a Dask cluster."""

import hashlib
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from dragstrip.cluster.connect import connected
from dragstrip.cluster.fleet import Fleet
from dragstrip.cluster.gate import Gate
from dragstrip.cluster.setup import Setup
from dragstrip.conduct.aa_control import aa_control
from dragstrip.conduct.clocks import admission_of, guest_of, place_of
from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.site import browsers_of, servers_of
from dragstrip.conduct.watcher import Watcher, quietly
from dragstrip.model.calibration import Calibration
from dragstrip.model.errors import InputError
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.results.machine import Machine
from dragstrip.results.manifest import own_git
from dragstrip.schedule.admission import MOST_JOBS, Admits, Company
from dragstrip.schedule.schedule import Schedule
from dragstrip.testbed.programs import program
from dragstrip.verdict.rules import VERSION
from dragstrip.version import __version__

_PROGRAMS = ("link", "origin")


@contextmanager
def dask_site(
    capsule: Capsule, schedule: Schedule, options: RunOptions, watcher: Watcher
) -> Iterator[tuple[Fleet, Callable[[Visit], str]]]:
    """Raises as `dragstrip.cluster.connect.connected` does."""
    study = schedule.study
    if study.clock.virtual and options.calibrate:
        raise InputError("--calibrate measures the link in real time: omit it with --virtual")
    measures = options.calibrate is not False and not study.clock.virtual
    jobs = options.jobs_per_machine(study.clock)
    setup = Setup(
        token=secrets.token_hex(6),
        study=study,
        place=place_of,
        fingerprint=fingerprint,
        calibrate=measured if measures else None,
        aa_control=aa_control if measures else None,
        most=most,
        independent=study.clock.virtual and jobs is None,
    )
    earlier = [one for start in capsule.manifest.starts for one in start.admitted]
    gate = Gate(study.clock, earlier, admit_others=options.admit_other_machines)
    with connected(options.cluster or "", watcher.said) as client:
        owner = _Owner(jobs, capsule, schedule, watcher)
        fleet = Fleet(client, setup, capsule.path, gate, owner)
        try:
            yield fleet, lambda visit: fleet.browser(visit.machine, visit.stack)
        finally:
            fleet.close()


class _Owner:
    """See `dragstrip.cluster.owner`."""

    def __init__(
        self, jobs: int | None, capsule: Capsule, schedule: Schedule, watcher: Watcher
    ) -> None:
        self.admitted = capsule.admitted
        self.said = watcher.said
        self._jobs = jobs
        self._schedule = schedule

    def admission(self, found: Fingerprint, slots: int) -> Admits:
        study = self._schedule.study
        return admission_of(study, self._jobs or slots, (), cores=found.machine.cores)

    def company(self, admission: Admits) -> Company:
        return admission.company(self._schedule.left)


def fingerprint(study: Study) -> Fingerprint:
    """Of this machine. Raises `TestbedError` if it lacks what the study needs."""
    return Fingerprint(
        machine=Machine.here(),
        dragstrip=own_git() or __version__,
        rules=VERSION,
        programs={name: _digest(program(f"dragstrip-{name}")) for name in _PROGRAMS},
        browsers=browsers_of(study),
        servers=servers_of(study),
        guest=guest_of(study),
    )


def measured(study: Study) -> Calibration:
    """This machine's link on the study's networks. Raises `TestbedError`."""
    return quietly(study.networks)


def most(study: Study) -> int:
    """What `--jobs auto` is on this machine."""
    return len(os.sched_getaffinity(0)) if study.clock.virtual else MOST_JOBS


def _digest(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:12]
