"""Who hears how a study is getting on."""

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
Estimate = Callable[[Mapping[CellKey, int]], float]
"""How long so many visits on each cell are going to take, in seconds."""


def quietly(networks: Sequence[Network]) -> Calibration:
    """Calibrates as briefly as suffices before visits. Raises `TestbedError`."""
    return calibrate(networks, effort=BRIEF)


@contextmanager
def unheard(schedule: Schedule, estimate: Estimate) -> Iterator[Tell]:
    """Nobody is told."""
    yield lambda visit: None


class Watcher(Struct, frozen=True, kw_only=True):
    """The default hears nothing."""

    calibrating: Callable[[Sequence[Network]], Calibration] = quietly
    """Measures networks before the first visit, and shows that it does."""
    said: Callable[[str], None] = lambda sentence: None
    """Told of what happens to machines of a cluster."""
    progress: Callable[[Schedule, Estimate], AbstractContextManager[Tell]] = unheard
    """Opened for the visits of a study; yields what is told of each."""
