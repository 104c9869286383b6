"""What client and workers tell each other."""

from collections.abc import Callable, Collection
from pathlib import Path

from msgspec import Struct

from dragstrip.model.calibration import Calibration
from dragstrip.model.study import Study
from dragstrip.results.aa_control import AAControl
from dragstrip.results.fingerprint import Fingerprint
from dragstrip.schedule.worker import MadeVisit, VisitPlace


class Setup(Struct, frozen=True, kw_only=True):
    """What a worker must know of a study."""

    token: str
    """Of one start of the client: its testbeds are nobody else's."""
    study: Study
    place: Callable[[Study, Path, Collection[str]], VisitPlace]
    """Where visits are made, by the study, the folder of artefacts and the pages to rehearse."""
    fingerprint: Callable[[Study], Fingerprint]
    calibrate: Callable[[Study], Calibration] | None
    """Measures a machine's link before its first visit; None where that is not asked for."""
    aa_control: Callable[[Study, int], AAControl] | None
    """Makes a round of a machine's A/A control, by a seed; None where none is made."""
    most: Callable[[Study], int]
    """Attempts that a machine has room for at most."""
    independent: bool = False
    """Attempts do not mind others beside them, so more may wait on a worker, and go together."""


class OpenedWorker(Struct, frozen=True, kw_only=True):
    fingerprint: Fingerprint
    lacks: tuple[str, ...] = ()
    """Digests of pages that must be sent before it is open."""
    slots: int = 0


class Result(Struct, frozen=True, kw_only=True):
    made: list[MadeVisit]
    files: dict[str, bytes]
    """By their paths in the capsule."""


class Batch(Struct, frozen=True, kw_only=True):
    results: list[Result]
    """Of the first attempts of a task, one at least; the others were not made."""
    took_s: float


class NotOpen(Exception):
    """This process knows nothing of the study: it is another than the one that was set up."""


class Abandoned(Exception):
    """Nobody waits for the attempt any longer."""
