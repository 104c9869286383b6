"""Keeps bodies on disk until they are needed."""

import tempfile
import weakref
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import overload

from msgspec import structs

from dragstrip.pages.format.recording import Recorded

_IN_MEMORY = 32_000_000


class SpooledExchange(Recorded, frozen=True, kw_only=True, dict=True):
    """An exchange with its body on disk: its `wire` is empty."""

    load: Callable[[], bytes]
    """Reads the body as it was sent over the wire."""


def whole(answer: Recorded) -> Recorded:
    """Return the exchange with its body in memory."""
    return (
        structs.replace(answer, wire=answer.load())
        if isinstance(answer, SpooledExchange)
        else answer
    )


class WholeExchanges(Sequence[Recorded]):
    """A sequence of exchanges that reads each body on access, so that only one is in memory at a
    time."""

    def __init__(self, answers: Iterable[Recorded]) -> None:
        self._answers = tuple(answers)

    @overload
    def __getitem__(self, at: int) -> Recorded: ...
    @overload
    def __getitem__(self, at: slice) -> "WholeExchanges": ...
    def __getitem__(self, at: int | slice) -> "Recorded | WholeExchanges":
        if isinstance(at, slice):
            return WholeExchanges(self._answers[at])
        return whole(self._answers[at])

    def __len__(self) -> int:
        return len(self._answers)


class Spool:
    """An unnamed temporary file with bodies, which stays in memory while it is small."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115
        self._end = 0
        weakref.finalize(self, self._file.close)

    def keep(self, body: bytes) -> Callable[[], bytes]:
        """Store a body; return a function that reads it back."""
        at = self._end
        self._file.seek(at)
        self._file.write(body)
        self._end += len(body)
        return partial(self._read, at, len(body)) if body else bytes

    def _read(self, at: int, length: int) -> bytes:
        self._file.seek(at)
        return self._file.read(length)
