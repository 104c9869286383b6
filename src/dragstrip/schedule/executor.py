"""Carries out attempts at blocks: the seam between schedule and machines."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from dragstrip.schedule.host import Host
from dragstrip.schedule.schedule import Attempt
from dragstrip.schedule.worker import MadeVisit


class AttemptState(Struct, frozen=True, kw_only=True):
    """The state of an attempt."""

    host: Host
    attempt: Attempt
    made: Sequence[MadeVisit] = ()
    """Visits made since the last answer, without a verdict."""
    over: bool = False
    """No machine works on it any more. Any machine may make what it lacks."""


class Executor(Protocol):
    @property
    def hosts(self) -> Sequence[Host]:
        """The machines that currently take attempts. They may come and go."""

    def begin(self, host: Host, attempt: Attempt) -> None:
        """Start the machine on an attempt that it took."""

    def answers(self, seconds: float | None) -> Iterable[AttemptState]:
        """Wait for answers or for a change of `hosts`, with an optional timeout.

        An answer's visits are stored when the next answer is requested; until then this machine
        begins no further visit of that attempt. Raises `TestbedError` if no visit can be made.
        """
