"""Turns the rows of a throughput log into the steps of a trace.

A rate holds from its row until the next one. A number of bytes is what was carried since the
previous row. The last row lasts as long as the usual interval. Gaps, rows out of order and rows
without a number are counted and reported.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from math import isfinite
from statistics import median
from typing import NamedTuple

from dragstrip.model.trace import Trace
from dragstrip.study.tracefiles.columns import Column, Columns, Unclear, Unit, find_times
from dragstrip.study.tracefiles.table import Log

_EPOCHS = ((1e17, 1e-9), (1e14, 1e-6), (1e11, 1e-3), (1e8, 1.0))
"""Pairs of a threshold and a unit in s: a time since 1970 that exceeds the threshold has that
unit."""
_TIME_UNITS = {
    "ns": 1e-9,
    "us": 1e-6,
    "ms": 1e-3,
    "milliseconds": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "secs": 1.0,
    "seconds": 1.0,
}
_DATES = (
    "%Y.%m.%d_%H.%M.%S",
    "%Y-%m-%d_%H-%M-%S",
    "%Y/%m/%d %H:%M:%S",
    "%d.%m.%Y %H:%M:%S",
    "%H:%M:%S",
    "%H:%M:%S.%f",
)
"""Date formats that are accepted besides ISO 8601. The first is G-NetTrack's."""
_NO_YEAR = 1900
"""The year that Python gives to a time of day without a date."""
_DAY_S = 86_400.0
_GAP = 5
"""Multiple of the usual interval: a row that lasts longer than this is a gap."""
_COUNTER_ROWS = 10
"""Fewest rows of non-decreasing bytes that count as a counter; fewer could be chance."""


class Read(NamedTuple):
    trace: Trace
    notes: tuple[str, ...]
    """Notes on assumptions and on rows left out, as half sentences."""


class _Sample(NamedTuple):
    at_s: float
    lasts_s: float | None
    value: float


def to_trace(
    log: Log, columns: Columns, rate: Column, unit: Unit, *, name: str, interval_s: float | None
) -> Read:
    """Turn a log into a trace. Raises `Unclear`, and `ValueError`, which names the line."""
    notes: list[str] = []
    times = _times(log, columns, interval_s, notes)
    lasts = _durations(log, columns.duration)
    cells = [row.cells[rate.place] if rate.place < len(row.cells) else "" for row in log.rows]
    values = [_number(cell) for cell in cells]
    samples = [
        _Sample(at, last, value)
        for at, last, value in zip(times, lasts, values, strict=True)
        if at is not None and value is not None and value >= 0
    ]
    if left_out := len(log.rows) - len(samples):
        notes.append(f"{left_out} of {len(log.rows)} rows left out that lack a time or a rate")
    if not samples:
        first = log.rows[0] if log.rows else None
        raise ValueError(
            f"line {first.line if first else 1}: no row has a time and a number in {rate.name!r}"
        )
    ordered = sorted(samples, key=lambda s: s.at_s)
    if backwards := sum(b.at_s < a.at_s for a, b in pairwise(samples)):
        notes.append(f"sorted by time, because {backwards} rows were earlier than the one above")
    merged = list(_merged(ordered, add=not unit.per_second))
    if len(merged) < len(ordered):
        notes.append(f"{len(ordered)} rows, {len(merged)} after those of one time were joined")
    steps = _rates(merged, unit, notes) if unit.per_second else _amounts(merged, unit, notes)
    return Read(Trace(name=name, steps=tuple(steps)), tuple(notes))


def seconds_of(
    log: Log, time: str | None, interval_s: float | None, notes: list[str]
) -> list[float | None]:
    """Return the time of each row in s, of a log that need not have a rate. `time` may name the
    column. Raises `Unclear`."""
    column, duration = find_times(log.names, time)
    return _times(log, Columns(column, duration, {}), interval_s, notes)


def _times(
    log: Log, columns: Columns, interval_s: float | None, notes: list[str]
) -> list[float | None]:
    """Return the time of each row, in s since an arbitrary start; None where a row has no time."""
    if columns.time is None or interval_s is not None:
        if interval_s is None:
            if columns.duration is None:
                raise Unclear(
                    "no name tells which column is the time (time=NAME; or how far rows are apart)",
                    "interval=1s",
                )
            ends = [0.0]
            for last in _durations(log, columns.duration):
                ends.append(ends[-1] + (last or 0.0))
            return list(ends[:-1])
        notes.append(f"rows taken to be {interval_s:g} s apart")
        return [i * interval_s for i in range(len(log.rows))]
    place = columns.time.place
    cells = [row.cells[place] if place < len(row.cells) else "" for row in log.rows]
    numbers = [_number(cell) for cell in cells]
    if all(n is None for n in numbers):
        return _unwrapped([_date(cell) for cell in cells])
    scale = _time_scale(columns.time.name, [n for n in numbers if n is not None])
    return [None if n is None else n * scale for n in numbers]


def _unwrapped(times: Sequence[float | None]) -> list[float | None]:
    """Continue times of day without a date past midnight. Dates stay unchanged."""
    unwrapped: list[float | None] = []
    midnights, before = 0.0, 0.0
    for at in times:
        if at is not None:
            if 0 <= at < before - _DAY_S / 2 and before < _DAY_S:
                midnights += _DAY_S
            before = at
        unwrapped.append(None if at is None else at + midnights)
    return unwrapped


def _time_scale(name: str, numbers: Sequence[float]) -> float:
    """Return the seconds per unit of a time column, found by its name, else by the size of its
    numbers."""
    for word in reversed("".join(c if c.isalnum() else " " for c in name.lower()).split()):
        if word in _TIME_UNITS and not (word == "s" and len(name) == 1):
            scale = _TIME_UNITS[word]
            break
    else:
        largest = max(numbers)
        scale = next((s for least, s in _EPOCHS if largest >= least), 0.0)
    if scale:
        return scale
    step = median([b - a for a, b in pairwise(sorted(set(numbers)))] or [1.0])
    if step <= _GAP:
        return 1.0
    if step >= 100:
        return 1e-3
    raise Unclear(
        f"{name!r} may be in s or in ms; say how far rows are apart", f"interval={step:g}ms"
    )


def _durations(log: Log, column: Column | None) -> list[float | None]:
    if column is None:
        return [None] * len(log.rows)
    durations = [
        _number(r.cells[column.place]) if column.place < len(r.cells) else None for r in log.rows
    ]
    known = [n for n in durations if n is not None and n > 0]
    scale = _time_scale(column.name, known or [1.0])
    return [n * scale if n is not None and n > 0 else None for n in durations]


def _merged(samples: Sequence[_Sample], *, add: bool) -> Iterator[_Sample]:
    """Yield one sample for each time, because logs in whole seconds may have several rows with the
    same time. With `add`, the values of such rows are added up."""
    group: list[_Sample] = []
    for sample in (*samples, None):
        if group and (sample is None or sample.at_s - group[0].at_s >= 1e-6):
            whole = sum(s.value for s in group)
            yield group[0]._replace(value=whole if add else whole / len(group))
            group = []
        if sample is not None:
            group.append(sample)


def _usual_s(samples: Sequence[_Sample]) -> float:
    durations = [s.lasts_s for s in samples if s.lasts_s is not None]
    return median(durations or [b.at_s - a.at_s for a, b in pairwise(samples)] or [1.0])


def _rates(
    samples: Sequence[_Sample], unit: Unit, notes: list[str]
) -> Iterator[tuple[float, float]]:
    usual, begin = _usual_s(samples), samples[0].at_s
    _tell_gaps(
        [b.at_s - a.at_s for a, b in pairwise(samples)], usual, "the rate before it holds", notes
    )
    for sample in samples:
        yield sample.at_s - begin, sample.value * unit.mbit
    yield samples[-1].at_s - begin + (samples[-1].lasts_s or usual), 0.0


def _amounts(
    samples: Sequence[_Sample], unit: Unit, notes: list[str]
) -> Iterator[tuple[float, float]]:
    usual = _usual_s(samples)
    values = [s.value for s in samples]
    if (
        len(values) >= _COUNTER_ROWS
        and values[-1] > values[0]
        and all(a <= b for a, b in pairwise(values))
    ):
        notes.append(f"{unit.name} never fall, so they are a counter's and were subtracted")
        values = [b - a for a, b in pairwise(values)]
        samples = samples[1:]
    first = samples[0].lasts_s or usual
    spans = [first, *(b.at_s - a.at_s for a, b in pairwise(samples))]
    _tell_gaps(spans, usual, f"its {unit.name} spread over it", notes)
    at = 0.0
    for span, value in zip(spans, values, strict=True):
        yield at, value * unit.mbit / span
        at += span
    yield at, 0.0


def _tell_gaps(spans: Sequence[float], usual: float, means: str, notes: list[str]) -> None:
    if gaps := [s for s in spans if s > _GAP * usual]:
        notes.append(f"gaps: {len(gaps)}, the longest {max(gaps):.3g} s: {means}")


def _number(cell: str) -> float | None:
    try:
        number = float(cell)
    except ValueError:
        return None
    return number if isfinite(number) else None


def _date(cell: str) -> float | None:
    try:
        date = datetime.fromisoformat(cell)
    except ValueError:
        for pattern in _DATES:
            try:
                date = datetime.strptime(cell, pattern)
                break
            except ValueError:
                continue
        else:
            return None
    if date.year == _NO_YEAR:
        return (date - datetime(_NO_YEAR, 1, 1)).total_seconds()
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()
