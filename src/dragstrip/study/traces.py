"""Reads and writes traces as text: Mahimahi's format, and lines of ``seconds Mbit/s``.

In Mahimahi's format, each line is a time in whole ms at which up to 1500 bytes may leave; several
lines may have the same time. In the other format, each line gives a second and the rate in Mbit/s
from then on; the last line ends the trace. Blank lines and comments (``#``) are ignored. Both
formats loop.
"""

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import ceil, isfinite
from typing import TypeVar

from dragstrip.model.errors import InputError
from dragstrip.model.trace import OPPORTUNITY_BYTES, Trace

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


def to_mahimahi(trace: Trace) -> str:
    """Return the trace in Mahimahi's format. Steps become opportunities with the same cumulative
    curve, never early and at most one packet or one millisecond late. A lap that does not end with
    a full opportunity gets an additional one at its end. Raises `InputError` if not even one packet
    passes in a lap."""
    if trace.opportunities_ms:
        return "".join(f"{at}\n" for at in trace.opportunities_ms)
    end_ms = max(round(trace.lap_ms), 1)
    times: list[int] = []
    carried = 0.0
    for (begin_s, rate_mbps), (end_s, _) in pairwise(trace.steps):
        bytes_per_ms = rate_mbps * 125
        until = carried + (end_s - begin_s) * 1000 * bytes_per_ms
        while (due := (len(times) + 1) * OPPORTUNITY_BYTES) <= until * (1 + 1e-12):
            at_ms = begin_s * 1000 + (due - carried) / bytes_per_ms
            times.append(min(ceil(at_ms - 1e-6), end_ms))
        carried = until
    if not times:
        raise InputError(f"trace {trace.name} carries less than a packet: Mahimahi cannot play it")
    if times[-1] != end_ms:
        times.append(end_ms)
    return "".join(f"{at}\n" for at in times)


def to_text(trace: Trace, bin_ms: int = 100) -> str:
    """Return the trace as lines of ``seconds Mbit/s``. Opportunities are counted in bins of
    `bin_ms`. The last bin is the remainder of the lap."""
    steps = trace.steps
    if trace.opportunities_ms:
        lap_ms = trace.opportunities_ms[-1]
        starts = range(0, lap_ms, bin_ms)
        # An opportunity at a bin's end belongs to that bin, one at 0 to the first.
        counts = Counter(max(at - 1, 0) // bin_ms for at in trace.opportunities_ms)
        spans = [min(bin_ms, lap_ms - start) for start in starts]
        sizes = [counts[place] * OPPORTUNITY_BYTES for place in range(len(spans))]
        rates = [size * 8 / span / 1000 for size, span in zip(sizes, spans, strict=True)]
        steps = (*zip((s / 1000 for s in starts), rates, strict=True), (lap_ms / 1000, 0.0))
    return "".join(f"{at!r} {rate!r}\n" for at, rate in steps)


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
