"""Content codings (RFC 9110 section 8.4): how bodies are encoded on the wire."""

import gzip
import zlib
from collections.abc import Callable, Mapping, Sequence

import brotli

from dragstrip.pages.format import zstd

_GZIP = 16 + zlib.MAX_WBITS
_RAW_DEFLATE = -zlib.MAX_WBITS


class CodingError(ValueError):
    """Raised if a body is not in the coding that its headers claim."""


class TooLong(ValueError):
    """Raised if a body decodes to more bytes than allowed."""


# A decoder gets the body and the most bytes to return, which is one more than allowed; -1 means
# all.


def _inflate(body: bytes, most: int, window_bits: int) -> bytes:
    # Browsers too decode as much as there is of a body that was cut short.
    return zlib.decompressobj(window_bits).decompress(body, max(most, 0))


def _deflate(body: bytes, most: int) -> bytes:
    # RFC 9110 means zlib's wrapper. Some servers send bare deflate, and browsers accept both.
    try:
        return _inflate(body, most, zlib.MAX_WBITS)
    except zlib.error:
        return _inflate(body, most, _RAW_DEFLATE)


def _brotli(body: bytes, most: int) -> bytes:
    decoder = brotli.Decompressor()
    decoded: bytes = (
        decoder.process(body, output_buffer_limit=most) if most >= 0 else decoder.process(body)
    )
    if not decoder.is_finished() and not 0 <= most <= len(decoded):
        raise brotli.error("it breaks off")
    return decoded


_DECODERS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "": lambda body, _: body,
    "identity": lambda body, _: body,
    "gzip": lambda body, most: _inflate(body, most, _GZIP),
    "x-gzip": lambda body, most: _inflate(body, most, _GZIP),
    "deflate": _deflate,
    "br": _brotli,
    "zstd": lambda body, most: zstd.ZstdDecompressor().decompress(body, most),
}


def decode(body: bytes, codings: str, most: int | None = None) -> bytes:
    """Decode `body` from the content codings in `codings`, the value of a header such as ``gzip``
    or ``gzip, br``.

    An empty body is empty in every coding. Raises `CodingError`, and `TooLong` for more than `most`
    bytes.
    """
    if not body:
        return body
    for coding in reversed([c.strip().lower() for c in codings.split(",")]):
        if coding not in _DECODERS:
            raise CodingError(f"content-encoding {coding!r} is not one of gzip, deflate, br, zstd")
        try:
            body = _DECODERS[coding](body, -1 if most is None else most + 1)
        except (zlib.error, brotli.error, zstd.ZstdError) as error:
            raise CodingError(f"the body is not {coding}: {error}") from None
        if most is not None and len(body) > most:
            raise TooLong(f"the {coding} body has more than {most} bytes")
    return body


_ENCODERS: Mapping[str, Callable[[bytes, int], bytes]] = {
    "gzip": lambda body, level: gzip.compress(body, level, mtime=0),
    "deflate": lambda body, level: zlib.compress(body, level),
    "br": lambda body, level: brotli.compress(body, quality=level),
    "zstd": lambda body, level: zstd.compress(body, level),
}
_TRIED: Mapping[str, Sequence[int]] = {
    "gzip": (1, 4, 6, 9),
    "deflate": (1, 4, 6, 9),
    "br": (1, 4, 6, 9, 11),
    "zstd": (1, 3, 9, 19),
}
_SLOW_BYTES = 400_000
"""Length in bytes from which bodies skip the two slowest compression levels, which would take
seconds."""


def encode(body: bytes, coding: str, level: int) -> bytes:
    """Encode `body` in ``gzip``, ``deflate``, ``br`` or ``zstd``, at a compression level of zlib,
    Brotli or Zstandard. Equal input gives equal bytes with the same version of the library."""
    return _ENCODERS[coding](body, level)


def encode_near(body: bytes, coding: str, size: int) -> bytes | None:
    """Encode `body` with the compression level whose result is nearest to `size` bytes.

    None if the coding is unknown. An empty body is empty in every coding.
    """
    if not body or coding in ("", "identity"):
        return body
    if coding not in _TRIED:
        return None
    levels = _TRIED[coding] if len(body) <= _SLOW_BYTES else _TRIED[coding][:3]
    coded = (encode(body, coding, level) for level in levels)
    return min(coded, key=lambda wire: abs(len(wire) - size))
