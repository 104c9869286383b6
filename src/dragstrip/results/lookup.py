"""Reads single visits from a long journal without reading the rest."""

from array import array
from itertools import accumulate
from pathlib import Path

import msgspec

from dragstrip.model.visit import Visit


class Lookup:
    """Reads visits by the number of their line, from 0, which is also their row in visits.parquet.
    Visits are as recorded. Reasons from comparing the visits of a block are only in the table's
    `reasons`."""

    def __init__(self, journal: Path) -> None:
        self._journal = journal
        self._decoder = msgspec.json.Decoder(Visit)
        self._ends = _line_ends(journal) if journal.exists() else array("q")

    def __len__(self) -> int:
        return len(self._ends)

    def __getitem__(self, row: int) -> Visit:
        begin = self._ends[row - 1] if row else 0
        with self._journal.open("rb") as file:
            file.seek(begin)
            return self._decoder.decode(file.read(self._ends[row] - begin))


def _line_ends(path: Path) -> "array[int]":
    """Return the offset after each newline. JSON text contains no other newlines."""
    with path.open("rb") as file:
        return array("q", accumulate(len(line) for line in file if line.endswith(b"\n")))
