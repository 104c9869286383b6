"""The executor that makes all visits in guests on this machine, in virtual time."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path

from dragstrip.execution.guest.concurrency import GuestConcurrency
from dragstrip.execution.guest.session import guest_session
from dragstrip.execution.local import LocalExecutor
from dragstrip.schedule.schedule import Schedule


class GuestExecutor(LocalExecutor):
    """Runs `jobs` blocks in parallel. A worker process starts the guests of each block and waits
    for them."""

    def __init__(
        self,
        schedule: Schedule,
        artefacts: Path,
        jobs: int,
        *,
        machine: str = "",
        browsers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(
            schedule,
            concurrency=GuestConcurrency(schedule.study, jobs),
            session=partial(guest_session, schedule.study, artefacts),
            machine=machine,
            browsers=browsers,
        )
