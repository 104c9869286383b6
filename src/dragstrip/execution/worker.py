"""A worker: a separate process that makes visits in the session it opened.

`Worker` gives the process attempts at blocks, `WorkerProcess` is its handle, and `main` is its
entry point. Neither side outlives the other for long. A worker that is stopped or terminated closes
its session properly. If its owner dies, even by kill -9, their connection breaks and the worker
exits at once; its testbed is then removed like that of any dead owner (`testbed.net.namespaces`).
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Iterable
from multiprocessing.connection import Connection, Pipe
from typing import Any

from dragstrip.browsers.errors import BrowserError
from dragstrip.execution.orders import MadeVisit, SessionFactory, VisitOrder
from dragstrip.model.errors import InputError
from dragstrip.schedule.schedule import Attempt
from dragstrip.testbed.errors import ProgramEnded, TestbedError

_CRASHES = 3
"""Number of times to try to make a visit."""
_OPENINGS = 3
"""Number of times to try to open a session."""
_END_TIMEOUT_S = 15.0
_MAIN = "from dragstrip.execution.worker import main; main()"


class Worker:
    """Makes attempts at blocks, visit after visit.

    If a browser or testbed crashes, it is restarted and the visit repeated. Nothing of a crashed
    visit is kept.
    """

    def __init__(self, session: SessionFactory) -> None:
        self._session = session
        self._process = WorkerProcess(session)
        self._orders: list[VisitOrder] = []
        self._position = 0
        self._crashes = 0

    @property
    def connection(self) -> "Connection[Any, Any]":
        """Readable when there is an answer."""
        return self._process.connection

    def begin(self, attempt: Attempt) -> None:
        self._orders, self._position, self._crashes = _orders(attempt), 0, 0
        self._order()

    def answer(self) -> MadeVisit | None:
        """Return a visit if one was made; None if another answer must be awaited.

        Raises `TestbedError` if the testbed is not available, or if the testbed or its browser
        crashes repeatedly.
        """
        try:
            return self._process.answer()
        except (BrowserError, EOFError, ProgramEnded) as error:
            self._crashes += 1
            if self._crashes == _CRASHES:
                raise broken(error, self._crashes) from error
            if isinstance(error, EOFError):
                self._process.wait()
                self._process = WorkerProcess(self._session)
            self._order()
            return None

    def go_on(self) -> bool:
        """Begin the next visit of the attempt; return False if all its visits are made."""
        self._position, self._crashes = self._position + 1, 0
        if self._position == len(self._orders):
            return False
        self._order()
        return True

    def end(self) -> None:
        """Ask the process to stop, even in the middle of a visit. See `wait`."""
        self._process.end()

    def wait(self) -> None:
        self._process.wait()

    def _order(self) -> None:
        if self._orders:
            self._process.order(self._orders[self._position])


def end_all(workers: Iterable[Worker]) -> None:
    """Ask all workers to stop, then wait for each."""
    workers = list(workers)
    for worker in workers:
        worker.end()
    for worker in workers:
        worker.wait()


def _orders(attempt: Attempt) -> list[VisitOrder]:
    last = attempt.parts[-1].block.id
    return [
        VisitOrder(block=part.block, attempt=part.attempt, stack=stack, last=last)
        for part in attempt.parts
        for stack in part.stacks
    ]


class WorkerProcess:
    """The owner's handle of a worker process. Poll `connection` for answers."""

    def __init__(self, session: SessionFactory) -> None:
        self.connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _MAIN, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # its owner handles Ctrl-C
            )
        self.connection.send(session)

    def order(self, order: VisitOrder) -> None:
        with contextlib.suppress(OSError):  # if the process is dead, `answer` raises
            self.connection.send(order)

    def answer(self) -> MadeVisit | None:
        """Return None whenever the process has opened a session, and after that each ordered visit.

        After `BrowserError` or `ProgramEnded` the process opens another session and takes orders.
        After `InputError` or another `TestbedError` it takes none. Raises `EOFError` if the process
        died.
        """
        try:
            answer = self.connection.recv()
        except ConnectionResetError:
            raise EOFError from None
        if isinstance(answer, Exception):
            raise answer
        made: MadeVisit | None = answer
        return made

    def end(self) -> None:
        """Ask the process to stop, even in the middle of a visit. See `wait`."""
        self._process.terminate()

    def wait(self) -> None:
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.connection.close()


def main() -> None:
    """Entry point of the worker process. Its only argument is the file descriptor of the connection
    to its owner."""
    connection = Connection(int(sys.argv[1]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Thread(target=_exit_with, args=(connection.fileno(),), daemon=True).start()
    session: SessionFactory = connection.recv()
    try:
        _obey(connection, session)
    except (TestbedError, InputError) as error:
        connection.send(error)


def _obey(
    connection: "Connection[MadeVisit | Exception | None, VisitOrder]", session: SessionFactory
) -> None:
    """Make visits in one session. Open a new one if its browser or one of its programs crashed."""
    failed = 0
    while True:
        order = None
        try:
            with session() as visit:
                failed = 0
                connection.send(None)
                while True:
                    order = connection.recv()
                    connection.send(visit(order))
        except (BrowserError, ProgramEnded) as error:
            if order is not None:
                connection.send(error)
            elif (failed := failed + 1) == _OPENINGS:
                raise broken(error, failed, " before its first visit") from error


def broken(error: Exception, times: int, when: str = "") -> TestbedError:
    """Return the error to raise after `times` attempts failed."""
    said = str(error) or "its process ended"
    if isinstance(error, ProgramEnded):
        return ProgramEnded(f"the testbed broke {times} times{when}: {said}")
    return TestbedError(f"the browser broke {times} times{when}: {said}")


def _exit_with(owner: int) -> None:
    """Wait until the other end of the connection is closed, and exit."""
    poll = select.poll()
    poll.register(owner, 0)
    poll.poll()
    os._exit(1)
