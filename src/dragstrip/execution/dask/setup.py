"""The messages between client and workers."""

from collections.abc import Callable, Collection
from pathlib import Path

from msgspec import Struct

from dragstrip.execution.orders import MadeVisit, SessionFactory
from dragstrip.model.calibration import Calibration
from dragstrip.model.study import Study
from dragstrip.results.aa_control import AAControl
from dragstrip.results.fingerprint import Fingerprint

RESOURCE = "testbed"
"""A Dask resource of each worker: how many attempts it has room for. A task takes one."""


class Setup(Struct, frozen=True, kw_only=True):
    """What a worker must know of a study."""

    token: str
    """Identifies one start of the client, which shares its testbeds with no other."""
    study: Study
    session: Callable[[Study, Path, Collection[str]], SessionFactory]
    """What makes visits, by the study, the folder of artefacts and the pages to rehearse."""
    fingerprint: Callable[[Study], Fingerprint]
    calibrate: Callable[[Study], Calibration] | None
    """Measures a machine's link before its first visit; None if that is not asked for."""
    aa_control: Callable[[Study, int], AAControl] | None
    """Makes a round of a machine's A/A control, by a seed; None if none is made."""
    most: Callable[[Study], int]
    """Attempts that a machine has room for at most."""
    independent: bool = False
    """Attempts do not disturb each other, so more of them may wait on a worker and share a task."""


class OpenedWorker(Struct, frozen=True, kw_only=True):
    fingerprint: Fingerprint
    lacks: tuple[str, ...] = ()
    """Digests of pages that must be sent before it is open."""
    slots: int = 0


class Result(Struct, frozen=True, kw_only=True):
    made: list[MadeVisit]
    files: dict[str, bytes]
    """File contents by path in the capsule."""


class Batch(Struct, frozen=True, kw_only=True):
    results: list[Result]
    """Results of the task's first attempts, at least one; the rest were not made."""
    took_s: float


class NotOpen(Exception):
    """This process replaced the one that was set up, and does not have the study."""


class Abandoned(Exception):
    """The client no longer waits for the attempt."""
