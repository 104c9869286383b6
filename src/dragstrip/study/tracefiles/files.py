"""Reads a file of recorded rates in any format: ``FILE`` or ``FILE?unit=kbit/s,down=DL``.

- ``unit``: unit of the rate, if its column does not say: ``kbit/s`` or ``MB/s``; or ``B`` or ``kB``
  for the bytes that each interval carried.
- ``time``, ``down``, ``up``: a column, by name or by number from 1.
- ``interval``: the time between rows, if no column gives times: ``1s``.
"""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from dragstrip.model.effects import Side
from dragstrip.model.errors import InputError
from dragstrip.model.trace import Trace
from dragstrip.model.units import parse_duration_ms
from dragstrip.study.tracefiles.columns import Column, Columns, Unclear, Unit, find_columns, unit_in
from dragstrip.study.tracefiles.table import Log, read_json, read_table
from dragstrip.study.tracefiles.throughput import to_trace
from dragstrip.study.traces import parse_trace

MOST_BYTES = 100_000_000
OPTIONS = ("unit", "time", "down", "up", "interval")
_UNITS = "bit/s, kbit/s, Mbit/s, B/s, kB/s, MB/s, or B, kB, MB in each interval"


class Played(NamedTuple):
    """The traces of one file."""

    down: Trace
    up: Trace | None
    """The upstream trace; None if the file has only one rate."""
    notes: tuple[str, ...]
    """Notes on how the file was read, as half sentences: columns, units, rows left out."""


def split(spec: str) -> tuple[str, dict[str, str]]:
    """Split ``FILE?a=1,b=2`` into FILE and its options, unless a file of that whole name exists."""
    file, mark, tail = spec.rpartition("?")
    if not mark or "=" not in tail or Path(spec).is_file():
        return spec, {}
    pairs = [part.partition("=") for part in re.split(r"[&,]", tail) if part]
    return file, {name.strip(): value.strip() for name, _, value in pairs}


def read_played(path: Path, options: Mapping[str, str] | None = None) -> Played:
    """Read the traces of a file. Raises `InputError`, which names the file, the place in it and
    what to do."""
    options = dict(options or {})
    if unknown := [name for name in options if name not in OPTIONS]:
        raise InputError(f"trace {path}: {unknown[0]} is no option; use {', '.join(OPTIONS)}")
    text = read_text(path)
    try:
        log = _log(text, options)
        if log is None:
            return Played(parse_trace(text, name=path.name, where=str(path)), None, ())
        return _played(path.name, log, options)
    except Unclear as error:
        said = f"trace {path}: {error}; say it like trace:{path}?{error.answer}"
        raise InputError(said) from None
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"trace {path}: {error}; fix the file or record it again") from None


def read_side(spec: str, folder: Path, side: Side) -> Trace:
    """Read the trace for one direction. If the file has both directions, return the trace of
    `side`. Raises `InputError`."""
    file, options = split(spec)
    played = read_played(folder / file, options)
    return played.up or played.down if side == "up" else played.down


def _log(text: str, options: Mapping[str, str]) -> Log | None:
    """Read the rows of a throughput log. None for the two formats that need no columns: Mahimahi's,
    and lines of ``seconds Mbit/s``."""
    if text.lstrip()[:1] in ("{", "["):
        return read_json(text)
    lines = (line.split("#")[0].split() for line in text.splitlines())
    first = next((fields for fields in lines if fields), [])
    plain = len(first) <= 2 and all(re.fullmatch(r"[-+.\deE]+", f) for f in first)
    return None if plain and not options else read_table(text)


def _played(name: str, log: Log, options: dict[str, str]) -> Played:
    interval = options.get("interval")
    interval_s = parse_duration_ms(interval) / 1000 if interval else None
    columns = _columns(log, options)
    notes: list[str] = []
    traces: dict[Side, Trace] = {}
    for side, column in columns.sides.items():
        unit = _unit(log, column, options.get("unit"))
        try:
            read = to_trace(log, columns, column, unit, name=name, interval_s=interval_s)
        except Unclear:
            raise
        except ValueError as error:
            raise ValueError(f"{column.name!r} in {unit.name}: {error}") from None
        traces[side] = read.trace
        notes.append(f"{side} from {column.name!r} in {unit.name}")
        notes += read.notes
    return Played(traces["down"], traces.get("up"), tuple(dict.fromkeys(notes)))


def _columns(log: Log, options: Mapping[str, str]) -> Columns:
    chosen = {k: v for k, v in options.items() if k in ("time", "down", "up")}
    if all(name.isdigit() for name in log.names) and "down" not in chosen:
        # Without a header, a single column is the rate; of two columns the first is the time.
        if len(log.names) > 2:
            raise Unclear(
                f"its {len(log.names)} columns have no header: which are time and rate?",
                "time=1,down=2",
            )
        chosen = {"down": log.names[-1]} | ({"time": "1"} if len(log.names) == 2 else {}) | chosen
    return find_columns(log.names, chosen)


def _unit(log: Log, column: Column, given: str | None) -> Unit:
    if given:
        unit = unit_in(f"({given})")
        if unit is None:
            raise Unclear(f"{given} is no unit ({_UNITS})", "unit=kbit/s")
        return unit
    if column.unit:
        return column.unit
    if {"RSRP", "NetworkMode", "DL_bitrate"} <= set(log.names) and "bitrate" in column.name:
        return Unit("kbit/s", 1e-3, per_second=True)  # according to G-NetTrack's manual
    raise Unclear(f"no name tells the unit of {column.name!r} ({_UNITS})", "unit=kbit/s")


def read_text(path: Path) -> str:
    """Read a plain text file in UTF-8, or UTF-16 with a byte order mark. Raises `InputError`."""
    try:
        if not path.exists():
            raise InputError(f"trace {path}: no such file")
        if not path.is_file():
            raise InputError(f"trace {path}: not a plain file")
        if path.stat().st_size > MOST_BYTES:
            raise InputError(f"trace {path}: over {MOST_BYTES // 10**6} MB; cut out what to play")
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"trace {path} cannot be read: {error.strerror}") from None
    marked = content.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return content.decode("utf-16" if marked else "utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"trace {path} is not text") from None
