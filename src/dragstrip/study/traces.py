"""Reads traces from text: Mahimahi's format, and lines of ``seconds Mbit/s``.

In Mahimahi's format, each line is a time in whole ms at which up to 1500 bytes may leave; several
lines may have the same time. In the other format, each line gives a second and the rate in Mbit/s
from then on; the last line ends the trace. Blank lines and comments (``#``) are ignored. Both
formats loop.
"""

from collections.abc import Callable
from math import isfinite
from typing import TypeVar

from dragstrip.model.errors import InputError
from dragstrip.model.trace import Trace

T = TypeVar("T", int, tuple[float, float])


def parse_trace(text: str, *, name: str, where: str) -> Trace:
    """Parse a trace. One number on the first line means Mahimahi's format, two numbers mean
    ``seconds Mbit/s``. Raises `InputError`."""
    lines = [
        (number, fields)
        for number, line in enumerate(text.splitlines(), 1)
        if (fields := line.split("#")[0].split())
    ]
    if not lines:
        raise InputError(f"{where} has no lines: a trace has ms, or seconds and Mbit/s, per line")
    try:
        if len(lines[0][1]) == 1:
            return Trace(name=name, opportunities_ms=_ascending(lines, _opportunity, where))
        return Trace(name=name, steps=_ascending(lines, _step, where))
    except ValueError as error:
        raise InputError(
            str(error) if str(error).startswith(where) else f"{where}: {error}"
        ) from None


def _ascending(
    lines: list[tuple[int, list[str]]], parse: Callable[[list[str]], T], where: str
) -> tuple[T, ...]:
    values: list[T] = []
    for number, fields in lines:
        try:
            value = parse(fields)
        except ValueError as error:
            raise ValueError(f"{where}, line {number}: {error}") from None
        if values and value < values[-1] and _time(value) < _time(values[-1]):
            raise ValueError(f"{where}, line {number}: goes back in time; sort the lines")
        values.append(value)
    return tuple(values)


def _time(value: int | tuple[float, float]) -> float:
    return value if isinstance(value, int) else value[0]


def _opportunity(fields: list[str]) -> int:
    if len(fields) != 1 or not (fields[0].isascii() and fields[0].isdigit()):
        raise ValueError(f"{' '.join(fields)!r} is not a whole number of ms")
    return int(fields[0])


def _step(fields: list[str]) -> tuple[float, float]:
    try:
        at, rate = map(float, fields)
    except ValueError:
        at = rate = -1.0
    if not (isfinite(at) and isfinite(rate) and at >= 0 and rate >= 0):
        raise ValueError(f"{' '.join(fields)!r} is not 'seconds Mbit/s', like '1.5 10.2'")
    return at, rate
