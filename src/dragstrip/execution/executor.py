"""The seam between the schedule and the machines that make its blocks."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol, TypeVar

from msgspec import Struct

from dragstrip.execution.host import Host
from dragstrip.execution.orders import MadeVisit
from dragstrip.model.visit import Visit
from dragstrip.schedule.schedule import Attempt


class AttemptState(Struct, frozen=True, kw_only=True):
    """The state of an attempt."""

    host: Host
    attempt: Attempt
    made: Sequence[MadeVisit] = ()
    """Visits made since the last answer, without a verdict."""
    over: bool = False
    """No machine works on it any more. Any machine may make what it lacks."""


class Executor(Protocol):
    """Makes attempts at blocks: in worker processes, in guests or on a cluster."""

    def open(self) -> None:
        """Get ready for attempts. Raises `InputError` or `TestbedError` if that is impossible."""

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

    def browser(self, visit: Visit) -> str:
        """What loaded the page, as its browser reports it."""

    def close(self) -> None:
        """End everything that was opened, also if only a part was."""


AnyExecutor = TypeVar("AnyExecutor", bound=Executor)


@contextmanager
def opened(executor: AnyExecutor) -> Iterator[AnyExecutor]:
    """Open the executor and close it afterwards, however that ends."""
    try:
        executor.open()
        yield executor
    finally:
        executor.close()
