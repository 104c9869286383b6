"""A worker that makes an attempt at a block, visit after visit."""

from multiprocessing.connection import Connection
from typing import Any

from dragstrip.browsers.cdp import CdpError
from dragstrip.schedule.schedule import Attempt
from dragstrip.schedule.worker import Made, Order, Place, Worker
from dragstrip.testbed.errors import TestbedError

_BROWSER_CRASHES = 3


class Seat:
    """A browser that crashes is restarted and its visit made again; nothing of a crashed visit is
    kept."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._worker = Worker(place)
        self._attempt: Attempt | None = None
        self._position = 0
        self._broken = 0

    @property
    def connection(self) -> "Connection[Any, Any]":
        """Ready when there is an answer."""
        return self._worker.connection

    @property
    def batch(self) -> int | None:
        """Of the block it makes, or made last."""
        return self._attempt.block.batch if self._attempt else None

    def begin(self, attempt: Attempt) -> None:
        self._attempt, self._position, self._broken = attempt, 0, 0
        self._order()

    def answer(self) -> Made | None:
        """A visit if one was made; None when there is only something to wait for.

        Raises `TestbedError` if the testbed is not available or the browser crashes repeatedly.
        """
        try:
            return self._worker.answer()
        except (CdpError, EOFError) as error:
            self._broken += 1
            if self._broken == _BROWSER_CRASHES:
                said = str(error) or "its process ended"
                raise TestbedError(f"the browser broke {self._broken} times: {said}") from error
            if isinstance(error, EOFError):
                self._worker.wait()
                self._worker = Worker(self._place)
            self._order()
            return None

    def go_on(self) -> bool:
        """Begin the next visit of the attempt; False if all are made."""
        assert self._attempt
        self._position, self._broken = self._position + 1, 0
        if self._position == len(self._attempt.stacks):
            return False
        self._order()
        return True

    def end(self) -> None:
        """Asks it to end, whatever it is at. See `wait`."""
        self._worker.end()

    def wait(self) -> None:
        self._worker.wait()

    def _order(self) -> None:
        if attempt := self._attempt:
            stack = attempt.stacks[self._position]
            order = Order(block=attempt.block, attempt=attempt.attempt, stack=stack)
            self._worker.order(order)
