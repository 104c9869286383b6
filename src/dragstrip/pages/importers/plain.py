"""Opens only plain files that the user gave, and follows no links out of a folder."""

import gzip
import io
import os
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from dragstrip.pages.format import zstd
from dragstrip.pages.format.recording import PageError, one_line
from dragstrip.pages.importers.limits import Limits, Meter, beyond, check_ratio

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_ZSTD_DICTIONARY = b"\x5d\x2a\x4d\x18"
"""Magic number of the skippable frame with the dictionary for all following frames (IIPC, WARC
files compressed with Zstandard, section 4)."""
_TRAINED = b"\x37\xa4\x30\xec"
"""Magic number of a dictionary (RFC 8878, section 5), unless the dictionary is raw content."""
BAD_PACKING = (gzip.BadGzipFile, zlib.error, zstd.ZstdError)
"""Exceptions from reading a damaged `unpacked` file, besides `OSError` and `Beyond`."""


@contextmanager
def plain_file(path: Path) -> Iterator[io.BufferedReader]:
    """Open a file. Raises `PageError`, for pipes and devices too."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise PageError(f"{path} cannot be read: it is a folder; give the file")
        if not stat.S_ISREG(mode):
            raise PageError(f"{path} cannot be read: it is no plain file; give a copy of the data")
        with path.open("rb") as file:
            yield file
    except OSError as error:
        raise PageError(f"{path} cannot be read: {error.strerror or error}") from None


def read_plain(path: Path, meter: Meter) -> bytes:
    """Return the content of a plain file. Raises `PageError`."""
    with plain_file(path) as file:
        try:
            meter.record()
            meter.unpacked(os.fstat(file.fileno()).st_size)
        except PageError as error:
            raise PageError(f"{path}: {error}") from None
        return file.read()


def plain_files(folder: Path, limits: Limits) -> tuple[list[Path], list[str]]:
    """Return all plain files in a folder and its subfolders, by name, and sentences on the skipped
    ones. Links to files are followed if they stay in the folder. Raises `PageError`."""
    found: list[Path] = []
    said: list[str] = []
    inside = folder.resolve()
    left = [(folder, 1)]
    while left:
        at, depth = left.pop()
        if depth > limits.max_depth:
            what = f"{folder}: the depth of its folders is"
            raise beyond(what, "max_depth", limits.max_depth)
        try:
            entries = sorted(at.iterdir())
        except OSError as error:
            raise PageError(f"{at} cannot be read: {error.strerror or error}") from None
        for entry in entries:
            if entry.is_dir() and not entry.is_symlink():
                left.append((entry, depth + 1))
            elif reason := unfit(entry, inside):
                said.append(f"{one_line(str(entry.relative_to(folder)))} left out: {reason}")
            else:
                found.append(entry)
        if len(found) > limits.max_records:
            what = f"{folder}: the number of its files is"
            raise beyond(what, "max_records", limits.max_records)
    return sorted(found), said


def unfit(entry: Path, inside: Path) -> str:
    """Return why an entry of a folder is not read; empty if it can be read."""
    try:
        if entry.is_symlink() and not entry.resolve(strict=True).is_relative_to(inside):
            return "it is a link out of the folder"
        return "" if stat.S_ISREG(entry.stat().st_mode) else "it is no plain file"
    except (OSError, RuntimeError):  # raised for a loop of links
        return "it is a link to nothing"


class _Counted(io.RawIOBase):
    """A stream that enforces the limits."""

    def __init__(self, packed: IO[bytes], inner: IO[bytes], meter: Meter) -> None:
        self._packed = packed
        self._inner = inner
        self._meter = meter
        self._total = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        try:
            data = self._inner.read(min(size, 1 << 20) if size >= 0 else 1 << 20)
        except EOFError as error:  # some callers take EOFError for the end
            raise zlib.error(str(error)) from None
        self._total += len(data)
        self._meter.unpacked(len(data))
        if self._inner is not self._packed:
            check_ratio(self._packed.tell(), self._total, "it", self._meter.limits)
        return data


def unpacked(file: IO[bytes], meter: Meter) -> IO[bytes]:
    """Open the content of a file as a stream. The file's first bytes show whether it is gzip,
    Zstandard or plain.

    The stream's `read` may return less than requested, and returns no bytes at the end. It raises
    `BAD_PACKING` and `Beyond`.
    """
    first = file.read(4)
    file.seek(-len(first), os.SEEK_CUR)
    inner = file
    if first.startswith(_GZIP):
        inner = gzip.GzipFile(fileobj=file)  # type: ignore[assignment]
    elif first == _ZSTD_DICTIONARY:
        inner = zstd.ZstdFile(file, zstd_dict=_dictionary(file))  # type: ignore[assignment]
    elif first == _ZSTD:
        inner = zstd.ZstdFile(file)  # type: ignore[assignment]
    return _Counted(file, inner, meter)  # type: ignore[return-value]


def _dictionary(file: IO[bytes]) -> zstd.ZstdDict:
    """Return the dictionary at the beginning of a file. The dictionary itself may be compressed."""
    head = file.read(8)
    text = file.read(min(int.from_bytes(head[4:], "little"), _MOST_DICTIONARY + 1))
    if text.startswith(_ZSTD):
        text = zstd.ZstdDecompressor().decompress(text, _MOST_DICTIONARY + 1)
    if not 8 <= len(text) <= _MOST_DICTIONARY:
        raise zstd.ZstdError(f"its dictionary has {len(text)} bytes")
    try:
        return zstd.ZstdDict(text, is_raw=not text.startswith(_TRAINED))
    except ValueError as error:
        raise zstd.ZstdError(f"its dictionary cannot be read: {error}") from None


_MOST_DICTIONARY = 16_000_000
