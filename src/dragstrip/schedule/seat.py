"""A worker that makes an attempt at a block, visit after visit."""

from multiprocessing.connection import Connection
from typing import Any

from dragstrip.browsers.errors import BrowserError
from dragstrip.schedule.schedule import Attempt
from dragstrip.schedule.worker import MadeVisit, VisitOrder, VisitPlace, Worker, broken
from dragstrip.testbed.errors import ProgramEnded

_CRASHES = 3


class Seat:
    """A crashed browser or testbed is restarted and its visit repeated; nothing of a crashed visit
    is kept."""

    def __init__(self, place: VisitPlace) -> None:
        self._place = place
        self._worker = Worker(place)
        self._orders: list[VisitOrder] = []
        self._position = 0
        self._broken = 0

    @property
    def connection(self) -> "Connection[Any, Any]":
        """Readable when there is an answer."""
        return self._worker.connection

    def begin(self, attempt: Attempt) -> None:
        self._orders, self._position, self._broken = _orders(attempt), 0, 0
        self._order()

    def answer(self) -> MadeVisit | None:
        """A visit if one was made; None if there is still something to wait for.

        Raises `TestbedError` if the testbed is not available, or it or its browser crashes
        repeatedly.
        """
        try:
            return self._worker.answer()
        except (BrowserError, EOFError, ProgramEnded) as error:
            self._broken += 1
            if self._broken == _CRASHES:
                raise broken(error, self._broken) from error
            if isinstance(error, EOFError):
                self._worker.wait()
                self._worker = Worker(self._place)
            self._order()
            return None

    def go_on(self) -> bool:
        """Begin the next visit of the attempt; False if all are made."""
        self._position, self._broken = self._position + 1, 0
        if self._position == len(self._orders):
            return False
        self._order()
        return True

    def end(self) -> None:
        """Asks it to stop, whatever it is doing. See `wait`."""
        self._worker.end()

    def wait(self) -> None:
        self._worker.wait()

    def _order(self) -> None:
        if self._orders:
            self._worker.order(self._orders[self._position])


def _orders(attempt: Attempt) -> list[VisitOrder]:
    last = attempt.parts[-1].block.id
    return [
        VisitOrder(block=part.block, attempt=part.attempt, stack=stack, last=last)
        for part in attempt.parts
        for stack in part.stacks
    ]
