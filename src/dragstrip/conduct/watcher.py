"""Callbacks that report a study's progress."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager

from msgspec import Struct

from dragstrip.model.calibration import Calibration
from dragstrip.model.network import Network
from dragstrip.model.study import CellKey
from dragstrip.model.visit import Visit
from dragstrip.schedule.schedule import Schedule
from dragstrip.testbed.calibrate.measure import BRIEF, calibrate

Tell = Callable[[Visit], None]
TimeEstimate = Callable[[Mapping[CellKey, int]], float]
"""Estimates the seconds for this many visits on each cell."""


def quietly(networks: Sequence[Network]) -> Calibration:
    """Calibrate without progress, as briefly as suffices before visits. Raises `TestbedError`."""
    return calibrate(networks, effort=BRIEF)


@contextmanager
def unheard(schedule: Schedule, estimate: TimeEstimate) -> Iterator[Tell]:
    """Open a context that reports no progress."""
    yield lambda visit: None


class Watcher(Struct, frozen=True, kw_only=True):
    """Callbacks that report progress; by default they do nothing."""

    calibrating: Callable[[Sequence[Network]], Calibration] = quietly
    """Calibrates networks before the first visit, and may show progress."""
    said: Callable[[str], None] = lambda sentence: None
    """Called with a sentence when a machine of a cluster joins, leaves or is refused."""
    progress: Callable[[Schedule, TimeEstimate], AbstractContextManager[Tell]] = unheard
    """A context for the visits of a study; yields a callback for each visit."""
