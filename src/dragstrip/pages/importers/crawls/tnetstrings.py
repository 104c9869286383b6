"""Parses tagged netstrings (https://tnetstrings.info), in the dialect of mitmproxy's flow files.

This parser is our own, because mitmproxy pins packages to versions older than we need.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import IO, Any

_MOST_DIGITS = 12


class Malformed(ValueError):
    """Raised for bytes that are not a tagged netstring; the text says why."""


def values(file: IO[bytes], most: int, depth: int) -> Iterator[Any]:
    """Yield the values in a file, one after the other, each of at most `most` bytes and nested at
    most `depth` deep. Raises `Malformed`."""
    while digits := _digits(file):
        length = int(digits)
        if length > most:
            raise Malformed(f"a value of {length} bytes is longer than {most}")
        data = file.read(length + 1)
        if len(data) != length + 1:
            raise Malformed(f"it breaks off: {length + 1 - len(data)} bytes are missing")
        yield _value(memoryview(data)[:-1], data[-1:], depth)


def _digits(file: IO[bytes]) -> bytes:
    """Return the digits of a length; empty at the end of the file."""
    digits = b""
    while (byte := file.read(1)) != b":":
        if not byte and not digits:
            return b""
        digits += byte
        if not byte.isdigit() or len(digits) > _MOST_DIGITS:
            raise Malformed("a length is no number")
    if not digits:
        raise Malformed("a length is no number")
    return digits


def _value(data: memoryview, tag: bytes, depth: int) -> Any:
    if tag in (b"]", b"}"):
        if depth == 0:
            raise Malformed("it is nested too deep")
        parts = list(_parts(data, depth - 1))
        return parts if tag == b"]" else _pairs(parts)
    if tag not in _SIMPLE:
        raise Malformed(f"the type {tag!r} is unknown")
    try:
        return _SIMPLE[tag](bytes(data))
    except ValueError as error:
        raise Malformed(str(error)) from None


def _parts(data: memoryview, depth: int) -> Iterator[Any]:
    at = 0
    while at < len(data):
        head = bytes(data[at : at + _MOST_DIGITS + 1])
        digits, colon, _ = head.partition(b":")
        if not colon or not digits.isdigit():
            raise Malformed("a length is no number")
        start = at + len(digits) + 1
        at = start + int(digits) + 1
        if at > len(data):
            raise Malformed("a value is longer than what holds it")
        yield _value(data[start : at - 1], bytes(data[at - 1 : at]), depth)


def _pairs(parts: list[Any]) -> dict[str, Any]:
    if len(parts) % 2:
        raise Malformed("a key has no value")
    return {_text(k): v for k, v in zip(parts[::2], parts[1::2], strict=True)}


def _text(key: Any) -> str:
    return key.decode("utf-8", "replace") if isinstance(key, bytes) else str(key)


_SIMPLE: Mapping[bytes, Callable[[bytes], Any]] = MappingProxyType(
    {
        b",": bytes,
        b";": lambda data: data.decode(),
        b"#": int,
        b"^": float,
        b"!": lambda data: data == b"true",
        b"~": lambda data: None,
    }
)
