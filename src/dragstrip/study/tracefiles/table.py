"""Reads a throughput log as names and rows of text, from CSV with any separator or from JSON."""

import csv
import io
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

_SEPARATORS = (",", ";", "\t", "|")
RIISER = ("unix", "elapsed_ms", "latitude", "longitude", "bytes", "interval_ms")
"""Column names for logs without a header that have six numbers per line: Norway's 3G (Riiser 2013),
Ghent's 4G (van der Hooft 2016)."""


class Row(NamedTuple):
    line: int
    """Line number in the file, from 1; for JSON the number of the record."""
    cells: list[str]


class Log(NamedTuple):
    names: tuple[str, ...]
    """Names of the columns, or their numbers from 1 if the log has no header."""
    rows: list[Row]


def read_json(text: str) -> Log:
    """Read a JSON log: a list of records, a record of lists, or iperf3's output. Raises
    `ValueError`."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
    if isinstance(value, dict) and isinstance(value.get("intervals"), list):
        sums = [i.get("sum") for i in value["intervals"] if isinstance(i, dict)]
        records = [s for s in sums if isinstance(s, dict)]
        return _records([{k: s.get(k) for k in ("start", "bits_per_second")} for s in records])
    if isinstance(value, dict):
        lists = {k: v for k, v in value.items() if isinstance(v, list)}
        longest = max((len(v) for v in lists.values()), default=0)
        if len(lists) == 1 and all(isinstance(r, dict) for v in lists.values() for r in v):
            return _records(next(iter(lists.values())))
        same = {k: v for k, v in lists.items() if len(v) == longest}
        return _records(
            [dict(zip(same, row, strict=True)) for row in zip(*same.values(), strict=True)]
        )
    return _records(value if isinstance(value, list) else [])


def _records(records: Sequence[Any]) -> Log:
    kept = [r for r in records if isinstance(r, dict) and r]
    if not kept:
        raise ValueError('it is no list of records like [{"time": 0, "mbps": 4.2}, ...]')
    names = tuple(dict.fromkeys(str(k) for r in kept for k in r))
    return Log(names, [Row(i, [_cell(r.get(n)) for n in names]) for i, r in enumerate(kept, 1)])


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def read_table(text: str) -> Log:
    """Read lines of cells. Comments (``#``) are skipped, except one that is the header. Raises
    `ValueError`."""
    lines = [(n, line) for n, line in enumerate(text.splitlines(), 1) if line.strip()]
    lines = lines[1:] if lines and lines[0][1].lower().startswith("sep=") else lines  # Excel's
    comments = [line for _, line in lines if line.lstrip().startswith("#")]
    lines = [(n, line) for n, line in lines if not line.lstrip().startswith("#")]
    if not lines:
        raise ValueError("it has no lines")
    separator = _separator([line for _, line in lines[:20]])
    rows = [Row(n, _cells(line, separator)) for n, line in lines]
    if not any(is_number(cell) for cell in rows[0].cells) and len(rows) > 1:
        return Log(tuple(rows[0].cells), rows[1:])
    width = len(rows[0].cells)
    for comment in reversed(comments):
        names = _cells(comment.lstrip("# "), separator)
        if len(names) == width and not any(map(is_number, names)):
            return Log(tuple(names), rows)
    if width == len(RIISER) and separator is None:
        return Log(RIISER, rows)
    return Log(tuple(str(i) for i in range(1, width + 1)), rows)


def is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _separator(lines: Sequence[str]) -> str | None:
    """Return the separator that occurs equally often in each line, and most often; None means white
    space."""
    counts = {s: {line.count(s) for line in lines} for s in _SEPARATORS}
    even = [s for s, numbers in counts.items() if len(numbers) == 1 and numbers != {0}]
    return max(
        even or [s for s in _SEPARATORS if 0 not in counts[s]],
        default=None,
        key=lambda s: max(counts[s]),
    )


def _cells(line: str, separator: str | None) -> list[str]:
    if separator is None:
        return line.split()
    cells = next(csv.reader(io.StringIO(line), delimiter=separator, skipinitialspace=True), [])
    # A comma that separates no columns is a decimal comma.
    return [
        c.strip().replace(",", ".") if separator != "," and is_number(c.strip()) else c.strip()
        for c in cells
    ]
