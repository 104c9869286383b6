"""The Chrome DevTools Protocol over a pipe: JSON messages that end with a NUL byte. WebDriver BiDi
has messages of the same form, but without sessions. It uses the same code.

Calls are synchronous on purpose: a visit is sequential, and each testbed has its own thread.
"""

import itertools
import os
import select
import time
from collections import deque
from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec import Struct

from dragstrip.browsers.errors import BrowserError
from dragstrip.testbed.process import PIPE_BYTES

_CALL_TIMEOUT_S = 30.0


class Event(Struct, frozen=True):
    """Something the browser reports."""

    method: str
    params: dict[str, Any]
    session: str


class _Message(Struct):
    id: int | None = None
    method: str = ""
    params: dict[str, Any] = {}
    sessionId: str = ""
    result: dict[str, Any] = {}
    error: dict[str, Any] | str | None = None
    message: str = ""
    """Error message in WebDriver BiDi. In DevTools the message is inside `error`."""


class Cdp:
    """A connection to one browser. `events` holds events not yet taken, oldest first."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._received = bytearray()
        self._ids = itertools.count(1)
        self._decoder = msgspec.json.Decoder(_Message)
        self._answers: dict[int, _Message] = {}
        self._forgotten: set[int] = set()
        self.events: deque[Event] = deque()

    def call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        """Send a command and wait for its result. Raises `BrowserError`."""
        return self.result_of(self.send(method, session, **params), method)

    def call_all(self, session: str, methods: Iterable[tuple[str, dict[str, Any]]]) -> None:
        """Send several commands at once and wait for all results. Raises `BrowserError`."""
        sent = [(self.send(method, session, **params), method) for method, params in methods]
        for number, method in sent:
            self.result_of(number, method)

    def send(self, method: str, session: str = "", **params: Any) -> int:
        """Send a command without waiting; return its number for `result_of`."""
        number = next(self._ids)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self._write(message, method)
        return number

    def _write(self, message: dict[str, Any], method: str) -> None:
        """Send a message. Raises `BrowserError`, which names `method`."""
        data = msgspec.json.encode(message) + b"\0"
        try:
            while data:
                data = data[os.write(self._write_fd, data) :]
        except BrokenPipeError:
            raise BrowserError(f"the browser ended before {method}") from None

    def result_of(self, number: int, method: str) -> dict[str, Any]:
        deadline = time.monotonic() + _CALL_TIMEOUT_S
        while number not in self._answers:
            if not self.pump(deadline):
                raise BrowserError(f"{method}: no answer for {_CALL_TIMEOUT_S:g} s")
        answer = self._answers.pop(number)
        if answer.error:
            said = answer.error.get("message") if isinstance(answer.error, dict) else answer.message
            raise BrowserError(f"{method}: {said or answer.error}")
        return answer.result

    def answered(self, number: int) -> bool:
        return number in self._answers

    def forget(self, number: int) -> None:
        """Ignore the answer to this command, because the caller no longer waits for it."""
        if self._answers.pop(number, None) is None:
            self._forgotten.add(number)

    def pump(self, deadline: float) -> bool:
        """Read what the browser has sent; return False if no message came before `deadline`
        (monotonic s). Chromium writes the NUL byte that ends a message by itself."""
        chunk = b""
        while b"\0" not in chunk:
            left_s = max(0.0, deadline - time.monotonic())
            if not select.select([self._read_fd], [], [], left_s)[0]:
                return False
            chunk = os.read(self._read_fd, PIPE_BYTES)
            if not chunk:
                raise BrowserError("the browser ended")
            self._received += chunk
        *messages, rest = bytes(self._received).split(b"\0")
        self._received = bytearray(rest)
        for raw in messages:
            self._take(raw)
        return True

    def _take(self, raw: bytes) -> None:
        message = self._decoder.decode(raw)
        if message.id is None:
            self.events.append(Event(message.method, message.params, message.sessionId))
        elif message.id in self._forgotten:
            self._forgotten.remove(message.id)
        else:
            self._answers[message.id] = message
