"""Which visits of a cell get their own page: a page for every visit would be too much to read."""

from collections.abc import Collection, Iterator

import polars as pl
from msgspec import Struct

from dragstrip.report.data.cells import ReportCell

OUTLIERS_FROM = 3
"""Blocks a cell needs before its slowest loads count as outliers."""


class ShownVisit(Struct, frozen=True):
    row: int
    """Row in visits.parquet."""
    why: str
    """``typical``, ``invalid``, ``slowest`` or ``asked for``."""


def shown(cell: ReportCell, room: int, also: Collection[str] = ()) -> list[ShownVisit]:
    """Each at most once: the ids in `also`; then, while their requests fit into `room`, each
    stack's typical visit, the invalid ones in order, and each stack's slowest."""
    taken: dict[int, ShownVisit] = {}
    for why, row, requests in _candidates(cell, also):
        if row in taken:
            continue
        if why != "asked for":
            if room < requests:
                continue
            room -= requests
        taken[row] = ShownVisit(row, why)
    return list(taken.values())


def _candidates(cell: ReportCell, also: Collection[str]) -> Iterator[tuple[str, int, int]]:
    """Why, row, number of requests."""
    visits = cell.seen.visits
    if also:
        id_ = pl.concat_str("block", "stack", "attempt", separator="|")
        yield from _told("asked for", visits.filter(id_.is_in(list(also))))
    by_load = [_by_load(cell, rows) for rows in cell.seen.stacks.values()]
    for rows in by_load:
        yield from _told("typical", rows[(len(rows) - 1) // 2 :].head(1))
    yield from _told("invalid", visits.filter(~pl.col("valid")))
    for rows in by_load:
        if len(rows) >= OUTLIERS_FROM:
            yield from _told("slowest", rows.tail(1))


def _by_load(cell: ReportCell, rows: pl.DataFrame) -> pl.DataFrame:
    """Visits in the order of their loads: of two middle visits, the faster one is typical. A failed
    load is the slowest."""
    loaded = pl.col("outcome") == "loaded"
    load = pl.when(loaded).then("plt_ms").otherwise(pl.lit(cell.seen.limit_ms))
    return rows.sort(load, maintain_order=True)


def _told(why: str, rows: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    for row, requests in rows.select("row", "requests").iter_rows():
        yield why, row, int(requests or 0)
