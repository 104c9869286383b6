"""Content codings (RFC 9110 section 8.4): how bodies are encoded on the wire."""

import functools
import gzip
import zlib
from collections.abc import Callable, Sequence

import brotli
import zstandard

_GZIP = 16 + zlib.MAX_WBITS
_RAW_DEFLATE = -zlib.MAX_WBITS


class CodingError(ValueError):
    """A body is not in the coding its headers claim."""


def _inflate(body: bytes, window_bits: int) -> bytes:
    # Like browsers, take what a body that was cut short still holds.
    return zlib.decompressobj(window_bits).decompress(body)


def _deflate(body: bytes) -> bytes:
    # RFC 9110 means zlib's wrapper; some servers send bare deflate, and browsers take both.
    try:
        return _inflate(body, zlib.MAX_WBITS)
    except zlib.error:
        return _inflate(body, _RAW_DEFLATE)


_DECODERS = {
    "": bytes,
    "identity": bytes,
    "gzip": lambda body: _inflate(body, _GZIP),
    "x-gzip": lambda body: _inflate(body, _GZIP),
    "deflate": _deflate,
    "br": brotli.decompress,
    "zstd": lambda body: zstandard.ZstdDecompressor().decompressobj().decompress(body),
}


def decode(body: bytes, codings: str) -> bytes:
    """`body` without the content encoding a header names, such as ``gzip`` or ``gzip, br``.

    An empty body is empty in every coding. Raises `CodingError`.
    """
    if not body:
        return body
    for coding in reversed([c.strip().lower() for c in codings.split(",")]):
        if coding not in _DECODERS:
            raise CodingError(f"content-encoding {coding!r} is not one of gzip, deflate, br, zstd")
        try:
            body = _DECODERS[coding](body)
        except (zlib.error, brotli.error, zstandard.ZstdError) as error:
            raise CodingError(f"the body is not {coding}: {error}") from None
    return body


_ENCODERS: dict[str, Sequence[Callable[[bytes], bytes]]] = {
    "": (bytes,),
    "identity": (bytes,),
    "gzip": [functools.partial(gzip.compress, compresslevel=n, mtime=0) for n in (1, 4, 6, 9)],
    "deflate": [functools.partial(zlib.compress, level=n) for n in (1, 4, 6, 9)],
    "br": [functools.partial(brotli.compress, quality=n) for n in (1, 4, 6, 9, 11)],
    "zstd": [zstandard.ZstdCompressor(level=n).compress for n in (1, 3, 9, 19)],
}
_SLOW_BYTES = 400_000
"""Longer bodies skip the two slowest settings, which would take seconds."""


def encode_near(body: bytes, coding: str, size: int) -> bytes | None:
    """`body` in a content coding, by the setting whose result is nearest to `size` bytes.

    None if the coding is not one we know. An empty body is empty in every coding.
    """
    encoders = _ENCODERS.get(coding)
    if encoders is None or not body:
        return body if encoders is not None or not body else None
    tried = encoders if len(body) <= _SLOW_BYTES else encoders[:3]
    return min((encode(body) for encode in tried), key=lambda wire: abs(len(wire) - size))
