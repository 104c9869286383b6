"""What carries attempts at blocks out, wherever that is: the seam between schedule and machines."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from msgspec import Struct

from dragstrip.schedule.host import Host
from dragstrip.schedule.schedule import Attempt
from dragstrip.schedule.worker import Made


class Answer(Struct, frozen=True, kw_only=True):
    """What became of an attempt so far."""

    host: Host
    attempt: Attempt
    made: Sequence[Made] = ()
    """Visits that were made since the last answer, without a verdict."""
    over: bool = False
    """Nobody works on it any longer. What it still lacks is made again, by any machine."""


class Executor(Protocol):
    @property
    def hosts(self) -> Sequence[Host]:
        """The machines that take attempts now. They may come and go."""

    def begin(self, host: Host, attempt: Attempt) -> None:
        """Set the machine to work on an attempt that it took."""

    def answers(self, seconds: float | None) -> Iterable[Answer]:
        """Waits for answers or for a change of `hosts`, at most so long if that is said.

        An answer's visits are stored when the next answer is asked for; until then nothing further
        of its attempt is begun on this machine. Raises `TestbedError` if no visit can be made.
        """
