"""Chooses the visits of a cell that get their own page, because a page for every visit would be too
much to read."""

from collections.abc import Collection, Iterator

import polars as pl
from msgspec import Struct

from dragstrip.report.data.cells import ReportCell

OUTLIERS_FROM = 3
"""Fewest blocks of a cell from which its slowest loads count as outliers."""


class ShownVisit(Struct, frozen=True):
    row: int
    """The visit's row in visits.parquet."""
    why: str
    """Why the visit gets a page: ``typical``, ``invalid``, ``slowest`` or ``asked for``."""


def shown(cell: ReportCell, room: int, also: Collection[str] = ()) -> list[ShownVisit]:
    """Choose the visits to show, each once. Visits in `also` always get a page. Other visits get
    one until their requests exceed `room`: each stack's typical visit, then the invalid visits in
    order, then each stack's slowest visit."""
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
    """Yield the candidates: why each would be shown, its row, and its number of requests."""
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
    """Sort the visits by page load time, so that the middle one is typical: of two middle visits,
    the faster one. A failed load is the slowest."""
    loaded = pl.col("outcome") == "loaded"
    load = pl.when(loaded).then("plt_ms").otherwise(pl.lit(cell.seen.limit_ms))
    return rows.sort(load, maintain_order=True)


def _told(why: str, rows: pl.DataFrame) -> Iterator[tuple[str, int, int]]:
    for row, requests in rows.select("row", "requests").iter_rows():
        yield why, row, int(requests or 0)
