"""Reads a file of recorded one-way delays in the forms that people have: ``FILE`` or
``FILE?interval=20ms``.

- Two numbers per line: second, and the delay in ms from then on. The last line ends the trace.
- One number per line: LeoReplayer's delays in ms, one for each 10 ms.
- Three numbers or more per line: CellReplay's base delays: time in ms, delay in ms, and the packet
  deliveries of a train, which are left out.
- JSON of rattan (the crate netem-trace): static delays and patterns of them.
- The output of ``ping``, with times of ``-D`` or without. The delay is half of each round trip.
- A log with a header: a column of delays or round trips, found by its name.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import isfinite
from pathlib import Path
from statistics import median
from typing import NamedTuple

from dragstrip.model.effects import Side
from dragstrip.model.errors import InputError
from dragstrip.model.trace import MOST_DELAY_MS, DelayTrace
from dragstrip.model.units import parse_duration_ms
from dragstrip.study.tracefiles.columns import Unclear, find_delay
from dragstrip.study.tracefiles.files import read_text, split
from dragstrip.study.tracefiles.rattan import read_rattan
from dragstrip.study.tracefiles.table import Log, read_json, read_table
from dragstrip.study.tracefiles.throughput import seconds_of

OPTIONS = ("interval", "time", "delay", "of", "unit")
_LEOREPLAYER_S = 0.01
_PING_S = 1.0
_PING = re.compile(
    r"^(?:\[(?P<at>\d+(?:\.\d+)?)\] )?\d+ bytes from .*?seq=(?P<seq>\d+).* "
    r"time[=<](?P<ms>\d+(?:\.\d+)?) ?ms"
)


class PlayedDelays(NamedTuple):
    trace: DelayTrace
    notes: tuple[str, ...]
    """Notes on how the file was read, as half sentences."""


class _Row(NamedTuple):
    line: int
    at_s: float
    ms: float


def read_delays(spec: str, folder: Path, side: Side) -> PlayedDelays:
    """Read the delays of one direction. Raises `InputError`, which names the file, the line and
    what to do."""
    file, options = split(spec)
    path = folder / Path(file).expanduser()
    if unknown := [name for name in options if name not in OPTIONS]:
        raise InputError(f"trace {path}: {unknown[0]} is no option; use {', '.join(OPTIONS)}")
    text = read_text(path)
    try:
        return _read(path.name, text, options, side)
    except Unclear as error:
        raise InputError(f"trace {path}: {error}; say it like {path}?{error.answer}") from None
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"trace {path}: {error}; fix the file or record it again") from None


def _read(name: str, text: str, options: Mapping[str, str], side: Side) -> PlayedDelays:
    if text.lstrip()[:1] == "{" and (steps := read_rattan(text)):
        return PlayedDelays(DelayTrace(name=name, steps=steps), ("delays of rattan's pattern",))
    if text.lstrip()[:1] in ("{", "["):
        return _of_log(name, read_json(text), options, side)
    lines = list(_lines(text))
    if not lines:
        raise ValueError("it has no lines: give second and ms per line, or ms per line")
    if any(_PING.match(" ".join(words)) for _, words in lines[:5]):
        return _of_ping(name, lines, options)
    if all(_is_number(word) for word in lines[0][1]) and not {"delay", "time"} & set(options):
        return _of_numbers(name, lines, options)
    return _of_log(name, read_table(text), options, side)


def _of_numbers(
    name: str, lines: Sequence[tuple[int, list[str]]], options: Mapping[str, str]
) -> PlayedDelays:
    width = len(lines[0][1])
    if width == 1:
        every_s = _interval_s(options) or _LEOREPLAYER_S
        rows = [_Row(n, i * every_s, _delay(n, words, 1)) for i, (n, words) in enumerate(lines)]
        note = f"one delay for each {every_s * 1000:g} ms"
        return _trace(name, _ended(rows, every_s), [note])
    if "interval" in options:
        raise ValueError("interval is of files with one number per line: leave it out")
    if width == 2:
        rows = [_Row(n, _time(n, words, 1.0), _delay(n, words, 2)) for n, words in lines]
        if len(rows) < 2:
            raise ValueError(
                f"line {rows[0].line}: it has one line, and the last line only ends the trace: add "
                "one with the time at which the trace ends"
            )
        return _trace(name, rows, [])
    rows = [_Row(n, _time(n, words, 1e-3), _delay(n, words, width)) for n, words in lines]
    return _trace(name, _ended(rows, None), ["times in ms; packet trains left out"])


def _of_ping(
    name: str, lines: Sequence[tuple[int, list[str]]], options: Mapping[str, str]
) -> PlayedDelays:
    found = [(n, m) for n, words in lines if (m := _PING.match(" ".join(words)))]
    stamped = all(m["at"] for _, m in found)
    every_s = _interval_s(options) or _PING_S
    times = [float(m["at"]) if stamped else int(m["seq"]) * every_s for _, m in found]
    rows = [
        _Row(n, at - times[0], _checked(n, float(m["ms"]) / 2))
        for at, (n, m) in zip(times, found, strict=True)
    ]
    notes = ["half of each round trip of ping"]
    if not stamped:
        notes.append(f"pings taken to be {every_s:g} s apart")
    ordered = sorted(rows, key=lambda row: row.at_s)
    return _trace(name, _ended(ordered, None), notes)


def _of_log(name: str, log: Log, options: Mapping[str, str], side: Side) -> PlayedDelays:
    interval_s = _interval_s(options)
    column = find_delay(log.names, options, side)
    notes = [f"{'half of ' if column.both_ways else ''}{column.name!r} in {column.unit}"]
    times = seconds_of(log, options.get("time"), interval_s, notes)
    rows = []
    for row, at_s in zip(log.rows, times, strict=True):
        cell = row.cells[column.place] if column.place < len(row.cells) else ""
        if at_s is None or not _is_number(cell):
            continue
        ms = float(cell) * column.ms / (2 if column.both_ways else 1)
        rows.append(_Row(row.line, at_s, _checked(row.line, ms)))
    if left_out := len(log.rows) - len(rows):
        notes.append(f"{left_out} of {len(log.rows)} rows left out that lack a time or a delay")
    if not rows:
        raise ValueError(f"no row has a time and a number in {column.name!r}")
    ordered = sorted(rows, key=lambda row: row.at_s)
    if backwards := sum(b.at_s < a.at_s for a, b in pairwise(rows)):
        notes.append(f"sorted by time, because {backwards} rows were earlier than the one above")
    first = ordered[0].at_s
    moved = [row._replace(at_s=row.at_s - first) for row in ordered]
    alone = [a for a, b in pairwise(moved) if b.at_s - a.at_s >= 1e-6]
    alone.append(moved[-1])
    if len(alone) < len(moved):
        notes.append(f"of rows with one time the last holds ({len(moved) - len(alone)} left out)")
    alone[0] = alone[0]._replace(at_s=0.0)
    return _trace(name, _ended(alone, interval_s), notes)


def _ended(rows: Sequence[_Row], every_s: float | None) -> list[_Row]:
    """Add a row that ends the trace. The last delay holds as long as most do."""
    usual_s = every_s or median([b.at_s - a.at_s for a, b in pairwise(rows)] or [1.0])
    return [*rows, _Row(rows[-1].line, rows[-1].at_s + (usual_s or 1.0), 0.0)]


def _trace(name: str, rows: Sequence[_Row], notes: Sequence[str]) -> PlayedDelays:
    for before, row in pairwise(rows):
        if row.at_s < before.at_s:
            raise ValueError(f"line {row.line}: goes back in time; sort the lines")
        if row.at_s - before.at_s < 1e-6:
            raise ValueError(f"line {row.line}: has the time of the line above; leave one out")
    if rows[0].at_s:
        raise ValueError(f"line {rows[0].line}: begins at {rows[0].at_s:g} s; begin at 0")
    steps = tuple((row.at_s, row.ms) for row in rows)
    return PlayedDelays(DelayTrace(name=name, steps=steps), tuple(notes))


def _lines(text: str) -> Iterator[tuple[int, list[str]]]:
    for number, line in enumerate(text.splitlines(), 1):
        if words := line.split("#")[0].split():
            yield number, words


def _time(line: int, words: Sequence[str], scale: float) -> float:
    at = float(words[0]) if _is_number(words[0]) else -1.0
    if not 0 <= at * scale <= 1e6:
        raise ValueError(f"line {line}: {words[0][:20]!r} is no time from 0 to 1000000 s")
    return at * scale


def _delay(line: int, words: Sequence[str], width: int) -> float:
    if len(words) != width and (width < 3 or len(words) < 3):
        has = "one number" if len(words) == 1 else f"{len(words)} numbers"
        raise ValueError(f"line {line}: has {has}, and the first line has {width}")
    word = words[0] if width == 1 else words[1]
    if not _is_number(word):
        raise ValueError(f"line {line}: {word[:20]!r} is no delay in ms")
    return _checked(line, float(word))


def _checked(line: int, ms: float) -> float:
    if not 0 <= ms <= MOST_DELAY_MS:
        raise ValueError(f"line {line}: a delay of {ms:g} ms; give 0 to {MOST_DELAY_MS}")
    return ms


def _interval_s(options: Mapping[str, str]) -> float | None:
    if "interval" not in options:
        return None
    interval_s = parse_duration_ms(options["interval"]) / 1000
    if not interval_s:
        raise ValueError("interval=0: give how far rows are apart, like interval=10ms")
    return interval_s


def _is_number(word: str) -> bool:
    try:
        return isfinite(float(word))
    except ValueError:
        return False
