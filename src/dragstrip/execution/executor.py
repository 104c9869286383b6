"""The interface between the schedule and the machines that make its blocks."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from msgspec import Struct

from dragstrip.execution.host import Host
from dragstrip.execution.orders import MadeVisit
from dragstrip.model.visit import Visit
from dragstrip.schedule.schedule import Attempt


class AttemptState(Struct, frozen=True, kw_only=True):
    """What an executor reports of an attempt."""

    host: Host
    attempt: Attempt
    made: Sequence[MadeVisit] = ()
    """Visits made since the last answer, without a verdict."""
    over: bool = False
    """Whether the machine has stopped work on the attempt. Any machine may make the visits that the
    attempt still lacks."""


class Executor(Protocol):
    """Makes attempts at blocks: in worker processes, in guests or on a cluster."""

    def open(self) -> None:
        """Prepare for attempts. Raises `InputError` or `TestbedError` if that is impossible."""

    @property
    def hosts(self) -> Sequence[Host]:
        """The machines that currently take attempts. They may come and go."""

    def begin(self, host: Host, attempt: Attempt) -> None:
        """Start an attempt on the machine that took it."""

    def answers(self, seconds: float | None) -> Iterable[AttemptState]:
        """Wait for answers or for a change of `hosts`, with an optional timeout.

        An answer's visits are stored when the next answer is requested; until then this machine
        begins no further visit of that attempt. Raises `TestbedError` if no visit can be made.
        """

    def browser(self, visit: Visit) -> str:
        """Return name and version of the browser that made the visit, as the browser reports
        them."""

    def close(self) -> None:
        """Close everything that was opened, even if opening failed halfway."""


AnyExecutor = TypeVar("AnyExecutor", bound=Executor)


@contextmanager
def opened(executor: AnyExecutor) -> Iterator[AnyExecutor]:
    """Open the executor and close it afterwards, even after an error."""
    try:
        executor.open()
        yield executor
    finally:
        executor.close()
