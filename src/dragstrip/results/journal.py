"""The journal: one visit per line, written to disk before the next visit begins."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from dragstrip.model.errors import InputError
from dragstrip.model.visit import Visit


class CapsuleError(InputError):
    """Raised if a capsule cannot be used; the text names the file or folder and what to do."""


def read(path: Path) -> Iterator[Visit]:
    """Yield the journal's visits in the order they were made.

    A last line without newline was cut off while it was written. Such a line is skipped, because
    its visit was never reported as done. Any other damage raises `CapsuleError`.
    """
    return (visit for visit, _ in entries(path))


def entries(path: Path) -> Iterator[tuple[Visit, bytes]]:
    """Yield the visits of a journal, each with its line as bytes."""
    decoder = msgspec.json.Decoder(Visit)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield decoder.decode(line), line
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise CapsuleError(
                    f"{path}, line {number}: not a visit ({error}); delete this line to repeat its "
                    "visit"
                ) from None


@contextlib.contextmanager
def unchanging(path: Path) -> Iterator[None]:
    """Open a context in which no other process writes the journal. Raises `CapsuleError` if another
    process writes it."""
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CapsuleError(
                f"{path.parent}: a run is still writing this capsule; wait for it"
            ) from None
        yield


class Journal:
    """The only writer of a journal. The writer holds the file's lock until it is closed."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            self._lock()
            self._end = self._cut_torn_line()
            self._keys = {visit.key for visit in read(path)}
        except BaseException:
            os.close(self._fd)
            raise

    def _lock(self) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CapsuleError(
                f"{self._path.parent}: another run is writing this capsule; "
                "wait for it, or give another --out"
            ) from None

    def _cut_torn_line(self) -> int:
        """Remove an unfinished last line; return the length of the file in bytes."""
        with self._path.open("rb") as lines:
            end = sum(len(line) for line in lines if line.endswith(b"\n"))
        os.ftruncate(self._fd, end)
        return end

    def append(self, visit: Visit, *, sync: bool = True) -> None:
        """Add a visit. With `sync`, return when the visit is safely on disk; without, it is safe
        after the next synced one. Raises `CapsuleError` if the visit exists already."""
        if visit.key in self._keys:
            raise CapsuleError(
                f"{self._path}: block {visit.block}, attempt {visit.attempt}, stack {visit.stack} "
                "is already recorded"
            )
        line = msgspec.json.encode(visit) + b"\n"
        try:
            written = os.write(self._fd, line)
            if written != len(line):
                raise OSError(f"only {written} of {len(line)} bytes could be written")
            if sync:
                os.fsync(self._fd)
        except OSError as error:
            # Half a line in the middle would make the whole journal unreadable.
            os.ftruncate(self._fd, self._end)
            raise CapsuleError(
                f"{self._path}: the visit could not be saved ({error}); free some disk space and "
                "run the same command again"
            ) from error
        self._end += len(line)
        self._keys.add(visit.key)

    def close(self) -> None:
        """Release the lock. Closing twice is harmless."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
