"""Reads files that are plain, .gz or .zst, up to a limit that protects memory."""

import gzip
import zlib
from pathlib import Path

import zstandard

MAX_BYTES = 2_000_000_000
"""Nothing may unpack to more than this."""
BAD_PACKING = (OSError, EOFError, zlib.error, zstandard.ZstdError)
"""What `read_packed` raises for a file that cannot be read; one that is too large raises
`ValueError`."""


def read_packed(path: Path) -> bytes:
    """The content of a file, unpacked as its name says."""
    name = path.name.lower()
    with path.open("rb") as file:
        if name.endswith(".zst"):
            opened = zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True)
            content = opened.read(MAX_BYTES + 1)
        elif name.endswith(".gz"):
            with gzip.GzipFile(fileobj=file) as unpacked:
                content = unpacked.read(MAX_BYTES + 1)
        else:
            content = file.read(MAX_BYTES + 1)
    check_size(len(content))
    return content


def check_size(size: int) -> None:
    """Raises `ValueError` beyond `MAX_BYTES`."""
    if size > MAX_BYTES:
        raise ValueError(f"it unpacks to more than {MAX_BYTES // 10**9} GB")
