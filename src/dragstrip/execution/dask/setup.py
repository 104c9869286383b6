"""The messages between a cluster's client and its workers."""

from collections.abc import Callable, Collection
from pathlib import Path

from msgspec import Struct

from dragstrip.execution.orders import MadeVisit, SessionFactory
from dragstrip.model.calibration import Calibration
from dragstrip.model.study import Study
from dragstrip.results.aa_control import AAControl
from dragstrip.results.fingerprint import Fingerprint

RESOURCE = "testbed"
"""Name of a Dask resource: how many attempts a worker has room for. A task takes one."""


class Setup(Struct, frozen=True, kw_only=True):
    """What a worker needs to prepare for a study."""

    token: str
    """Identifies one start of the client. Sessions are not shared between starts."""
    study: Study
    session: Callable[[Study, Path, Collection[str]], SessionFactory]
    """Returns the session factory for a study, the folder of artefacts and the pages to
    rehearse."""
    fingerprint: Callable[[Study], Fingerprint]
    calibrate: Callable[[Study], Calibration] | None
    """Measures a machine's link before its first visit; None skips this."""
    aa_control: Callable[[Study, int], AAControl] | None
    """Makes a round of a machine's A/A control with this seed; None skips this."""
    most: Callable[[Study], int]
    """Most attempts that a machine has room for."""
    independent: bool = False
    """Whether attempts leave each other undisturbed. Then a worker gets some in advance, and a task
    may hold several."""


class OpenedWorker(Struct, frozen=True, kw_only=True):
    fingerprint: Fingerprint
    lacks: tuple[str, ...] = ()
    """Digests of pages that must be sent before the worker can open the study."""
    slots: int = 0


class Result(Struct, frozen=True, kw_only=True):
    made: list[MadeVisit]
    files: dict[str, bytes]
    """File contents by path in the capsule."""


class Batch(Struct, frozen=True, kw_only=True):
    results: list[Result]
    """Results of the task's first attempts, at least one. The task's later attempts were not
    made."""
    took_s: float


class NotOpen(Exception):
    """Raised by a worker process that does not have the study, because it replaced the process that
    opened the study."""


class Abandoned(Exception):
    """Raised when the client no longer waits for the attempt."""
