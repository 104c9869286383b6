"""A testbed in its own process:

the handle, and the process's code. Neither side outlives the other for long. A worker that is
stopped or terminated shuts its testbed down in order. If its owner dies, even by kill -9, their
connection breaks and the worker exits at once; its testbed is then removed like that of any dead
owner (`testbed.namespaces`).
"""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, Pipe

from msgspec import Struct

from dragstrip.browsers.errors import BrowserError
from dragstrip.browsers.load import Load
from dragstrip.model.errors import InputError
from dragstrip.model.study import Block
from dragstrip.model.visit import Visit
from dragstrip.testbed.errors import ProgramEnded, TestbedError

_END_TIMEOUT_S = 15.0
_OPENINGS = 3
"""How many times to try to open a place."""
_MAIN = "from dragstrip.schedule.worker import main; main()"


class VisitOrder(Struct, frozen=True, kw_only=True):
    """A visit to be made."""

    block: Block
    attempt: int
    stack: str
    last: str = ""
    """The last block that is ordered in one go; empty where that is this one."""


MadeVisit = tuple[Visit, Load]
"""Evidence: the visit has no verdict yet."""
Visitor = Callable[[VisitOrder], MadeVisit]
VisitPlace = Callable[[], contextlib.AbstractContextManager[Visitor]]
"""Opens the place where visits are made. It is sent to another process, so it must be picklable."""


class Worker:
    """The owner's handle. Poll `connection` for answers."""

    def __init__(self, place: VisitPlace) -> None:
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
        self.connection.send(place)

    def order(self, order: VisitOrder) -> None:
        with contextlib.suppress(OSError):  # if it is dead, `answer` raises
            self.connection.send(order)

    def answer(self) -> MadeVisit | None:
        """None whenever its place has been opened, then the ordered visits. Raises `BrowserError`
        or `ProgramEnded`, after which it opens its place again and takes orders; another
        `TestbedError` or `InputError`, after which it takes none; `EOFError` if it died."""
        try:
            answer = self.connection.recv()
        except ConnectionResetError:
            raise EOFError from None
        if isinstance(answer, Exception):
            raise answer
        made: MadeVisit | None = answer
        return made

    def end(self) -> None:
        """Asks it to stop, whatever it is doing. See `wait`."""
        self._process.terminate()

    def wait(self) -> None:
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.connection.close()


def main() -> None:
    """The worker's process. Its only argument is the file descriptor of the connection to obey."""
    connection = Connection(int(sys.argv[1]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    threading.Thread(target=_exit_with, args=(connection.fileno(),), daemon=True).start()
    place: VisitPlace = connection.recv()
    try:
        _obey(connection, place)
    except (TestbedError, InputError) as error:
        connection.send(error)


def _obey(
    connection: "Connection[MadeVisit | Exception | None, VisitOrder]", place: VisitPlace
) -> None:
    """Make visits in one testbed, and in a new one if its browser or a program of it broke."""
    failed = 0
    while True:
        order = None
        try:
            with place() as visit:
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
    """What is raised when it is no use to try again."""
    said = str(error) or "its process ended"
    if isinstance(error, ProgramEnded):
        return ProgramEnded(f"the testbed broke {times} times{when}: {said}")
    return TestbedError(f"the browser broke {times} times{when}: {said}")


def _exit_with(owner: int) -> None:
    """Waits until the other end of the connection is closed."""
    poll = select.poll()
    poll.register(owner, 0)
    poll.poll()
    os._exit(1)
