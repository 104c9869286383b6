"""Computes how many bytes on the wire a browser needs to read a coded body up to a given byte."""

import zlib
from collections.abc import Callable, Sequence

import brotli

from dragstrip.pages.format import zstd

_STEP = 128
"""Resolution in bytes on the wire; a packet has about ten times as many."""


def on_wire(wire: bytes, coding: str, offsets: Sequence[int]) -> list[int]:
    """Return bytes of `wire` that are needed to reach each offset in the decoded body, rounded up
    to `_STEP`; all of `wire` for an offset beyond the body's end. An unknown coding counts as no
    coding."""
    decode = _decoder(coding)
    if decode is None:
        return [min(offset, len(wire)) for offset in offsets]
    reached: list[tuple[int, int]] = []
    decoded = 0
    try:
        for start in range(0, len(wire), _STEP):
            decoded += len(decode(wire[start : start + _STEP]))
            reached.append((decoded, min(start + _STEP, len(wire))))
    except (zlib.error, brotli.error, zstd.ZstdError, EOFError):
        reached.clear()
    order = sorted(range(len(offsets)), key=offsets.__getitem__)
    found, place = [len(wire)] * len(offsets), 0
    for index in order:
        while place < len(reached) and reached[place][0] < offsets[index]:
            place += 1
        found[index] = reached[place][1] if place < len(reached) else len(wire)
    return found


def decoded_bytes(wire: bytes, coding: str, length: int) -> int:
    """Return the number of decoded bytes that a browser can read from the first `length` bytes of
    `wire`."""
    decode = _decoder(coding)
    if decode is None:
        return min(length, len(wire))
    try:
        return len(decode(wire[:length]))
    except (zlib.error, brotli.error, zstd.ZstdError, EOFError):
        return length


def _decoder(coding: str) -> Callable[[bytes], bytes] | None:
    if coding in ("gzip", "x-gzip", "deflate"):
        return zlib.decompressobj(wbits=47 if coding != "deflate" else 15).decompress
    if coding == "br":
        found: Callable[[bytes], bytes] = brotli.Decompressor().process
        return found
    if coding == "zstd":
        return zstd.ZstdDecompressor().decompress
    return None
