"""The study by the clock that options ask for."""

from msgspec import structs

from dragstrip.model.clock import COMPUTING, Clock
from dragstrip.model.study import Study


def timed(study: Study, clock: Clock) -> Study:
    """The study by the clock requested. Real time leaves the study its own clock, and
    virtual time one in which computing counts."""
    if clock == COMPUTING or (clock.virtual and not study.clock.virtual):
        return structs.replace(study, clock=clock)
    return study
