"""Turns the blocks of a cell into rows, with the result of every attempt."""

from collections.abc import Mapping, Sequence

import polars as pl
from msgspec import Struct

from dragstrip.model.study import index_of
from dragstrip.report.data.cells import ReportCell

MOST_ROWS = 200
"""Most rows of a table. If a cell has more visits, those of invalid blocks and of the most unusual
blocks are kept."""


class StackVisit(Struct, frozen=True):
    """One stack's visit in an attempt."""

    verdict: str
    outcome: str
    plt_ms: float | None
    detail: str
    """Why the visit is invalid, or why it failed; empty otherwise."""
    file: str | None
    """File name of the visit's page; None if it has no page."""


class BlockRow(Struct, frozen=True, kw_only=True):
    index: int
    attempt: int
    counts: bool
    places: tuple[StackVisit | None, ...]
    """Visits in the order of the stacks; None if a stack's visit was not made."""
    ratios: tuple[float | None, ...]
    """Page load time divided by that of the first stack; None for the first stack, and if either
    did not load."""


class BlockRows(Struct, frozen=True):
    rows: tuple[BlockRow, ...]
    left_out: int


def block_rows(cell: ReportCell, names: Sequence[str], files: Mapping[int, str]) -> BlockRows:
    """Make the table of a cell's blocks. `names` are the stacks to show; ratios are to the first of
    them. `files` maps a row of visits.parquet to the visit's page."""
    attempts: dict[tuple[int, int], list[dict[str, object]]] = {}
    for row in _kept(cell, len(names)).iter_rows(named=True):
        index = index_of(row["block"])
        attempts.setdefault((index, row["attempt"]), []).append(row)
    rows = [_row(index, n, attempts[index, n], names, files) for index, n in sorted(attempts)]
    return BlockRows(tuple(rows[:MOST_ROWS]), _attempts(cell) - len(rows[:MOST_ROWS]))


def _attempts(cell: ReportCell) -> int:
    return cell.seen.visits.select("block", "attempt").unique().height


def _kept(cell: ReportCell, stacks: int) -> pl.DataFrame:
    """Return all visits if there are few; otherwise those of invalid blocks first, then of blocks
    furthest from the median load."""
    visits = cell.seen.visits
    if visits.height <= MOST_ROWS * stacks:
        return visits
    log = pl.col("plt_ms").log()
    odd = (log - log.median().over("stack")).abs().max().over("block").fill_null(float("inf"))
    invalid = (~pl.col("valid")).any().over("block")
    rank = pl.struct(~invalid, -odd).rank("dense").alias("rank")
    return visits.with_columns(rank).filter(pl.col("rank") <= MOST_ROWS)


def _row(
    index: int,
    attempt: int,
    made: Sequence[Mapping[str, object]],
    names: Sequence[str],
    files: Mapping[int, str],
) -> BlockRow:
    by_stack = {str(row["stack"]): _place(row, files) for row in made}
    places = tuple(by_stack.get(name) for name in names)
    return BlockRow(
        index=index,
        attempt=attempt,
        counts=any(bool(row["counts"]) for row in made),
        places=places,
        ratios=tuple(_ratio(places[0], place) for place in places),
    )


def _place(row: Mapping[str, object], files: Mapping[int, str]) -> StackVisit:
    reasons, load = row["reasons"], row["plt_ms"]
    told = "; ".join(reasons) if isinstance(reasons, list) and reasons else str(row["error"] or "")
    number = row["row"]
    return StackVisit(
        verdict=str(row["verdict"]),
        outcome=str(row["outcome"]),
        plt_ms=load if isinstance(load, float) and row["outcome"] == "loaded" else None,
        detail=told,
        file=files.get(number) if isinstance(number, int) else None,
    )


def _ratio(first: StackVisit | None, other: StackVisit | None) -> float | None:
    if first is None or other is None or first is other or not first.plt_ms or not other.plt_ms:
        return None
    return other.plt_ms / first.plt_ms
