"""Counts the invalid visits per stack and reason, and lists them."""

from collections.abc import Mapping
from typing import Any

import polars as pl
from msgspec import Struct

from dragstrip.model.study import Study

SHOWN_VISITS = 600
"""Most invalid visits in the table. The others are in the capsule's visits.parquet."""


class StackRate(Struct, frozen=True):
    stack: str
    visits: int
    invalid: int


class ReasonByStack(Struct, frozen=True):
    code: str
    visits: dict[str, int]
    """Number of visits by stack."""


class InvalidVisit(Struct, frozen=True):
    row: dict[str, Any]
    """The visit's row in visits.parquet, by column."""
    reasons: tuple[tuple[str, str], ...]
    """Pairs of code and detail."""
    file: str | None
    """Path of the visit's page from the report's folder; None if it has no page."""


class Verdicts(Struct, frozen=True, kw_only=True):
    rates: tuple[StackRate, ...]
    causes: tuple[ReasonByStack, ...]
    """Reasons, most frequent first."""
    invalid: tuple[InvalidVisit, ...]
    """The first `SHOWN_VISITS` invalid visits, in the order they were made."""
    unchecked: tuple[str, ...]
    """Checks that no verdict could make, in words."""


def verdicts(study: Study, table: pl.LazyFrame, files: Mapping[int, str]) -> Verdicts:
    """List the invalid visits of a study. `table` is visits.parquet; `files` maps its rows to the
    visits' pages."""
    made = {
        stack: (visits, invalid)
        for stack, visits, invalid in _collect(
            table.group_by("stack").agg(pl.len(), (~pl.col("valid")).sum().alias("invalid"))
        ).iter_rows()
    }
    invalid = table.filter(~pl.col("valid"))
    codes = invalid.select("stack", pl.col("verdict").str.split(",").alias("code")).explode("code")
    causes: dict[str, dict[str, int]] = {}
    for code, stack, count in _collect(codes.group_by("code", "stack").len()).iter_rows():
        causes.setdefault(code, {})[stack] = count
    columns = ["row", "block", "attempt", "position", "page", "network", "connection", "stack"]
    columns += ["outcome", "error", "reasons", "plt_ms"]
    shown = invalid.select(columns).head(SHOWN_VISITS).collect(engine="streaming")
    return Verdicts(
        rates=tuple(StackRate(s.name, *made.get(s.name, (0, 0))) for s in study.visited),
        causes=tuple(
            ReasonByStack(code, by_stack)
            for code, by_stack in sorted(causes.items(), key=lambda c: (-sum(c[1].values()), c[0]))
        ),
        invalid=tuple(
            InvalidVisit(row, tuple(_split(text) for text in row["reasons"]), files.get(row["row"]))
            for row in shown.iter_rows(named=True)
        ),
        unchecked=unchecked(table),
    )


def unchecked(table: pl.LazyFrame) -> tuple[str, ...]:
    """Checks that the verdicts of these visits could not make, in words."""
    gaps = _collect(table.select(pl.col("unchecked").explode().unique().drop_nulls()))
    return tuple(sorted(gaps["unchecked"]))


def _split(text: str) -> tuple[str, str]:
    code, _, detail = text.partition(": ")
    return code, detail


def _collect(frame: pl.LazyFrame) -> pl.DataFrame:
    return frame.collect(engine="streaming")
