"""Tests whether some stacks have more invalid visits than others.

Invalid visits are repeated. If one kind of fault affects a stack more often, it selects which
visits of that stack count, and so biases the comparison.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import polars as pl
from msgspec import Struct

from dragstrip.stats.groups.exact_rates import exact_rates
from dragstrip.stats.holm import holm

ALPHA = 0.05
EVERYWHERE = "all cells"


class JudgedVisit(Protocol):
    """A visit, or the fields of a visit that a table has."""

    @property
    def block(self) -> str: ...
    @property
    def stack(self) -> str: ...
    @property
    def valid(self) -> bool: ...


class Rate(Struct, frozen=True, kw_only=True):
    """Numbers of invalid visits and of all visits of a stack, including those of rerun attempts."""

    stack: str
    invalid: int
    visits: int


class Bias(Struct, frozen=True, kw_only=True):
    """Invalid rates of the stacks on one cell, or on all of them together."""

    cell: str
    """The cell as ``page|network``, with the connection mode for repeat visits; or `EVERYWHERE`."""
    rates: tuple[Rate, ...]
    p: float
    """Probability that the rates differ only by chance (Fisher's exact test). On a cell it is
    adjusted for the number of cells; for all cells together it is not."""

    @property
    def shown(self) -> bool:
        """Whether invalid visits affect the stacks unequally."""
        return self.p < ALPHA


InvalidCounts = dict[str, tuple[int, int]]
"""Numbers of invalid visits and of all visits, by stack."""


def bias(visits: Iterable[JudgedVisit], stacks: Sequence[str]) -> list[Bias]:
    """Return one row per cell with an invalid visit, in the order the cells began. If there are
    several cells, a row for all of them comes first.

    Holm's correction covers the cells with an invalid visit, because the others cannot be biased.
    The row of all cells is a separate test: if it were corrected together with fifty cells, a
    difference of six percentage points over 474 visits would not show.
    """
    by_cell: dict[str, InvalidCounts] = {}
    for visit in visits:
        counts = by_cell.setdefault(visit.block.rpartition("|")[0], {})
        invalid, made = counts.get(visit.stack, (0, 0))
        counts[visit.stack] = invalid + (not visit.valid), made + 1
    return _tested(by_cell, stacks)


def bias_of_table(table: pl.LazyFrame, stacks: Sequence[str] | None = None) -> list[Bias]:
    """Return the rows of `bias` for `table`, which is visits.parquet. `stacks` None means all
    stacks in the table."""
    cell = pl.col("block").str.replace(r"\|[^|]*$", "").alias("cell")
    counted = table.group_by(cell, "stack").agg(
        pl.col("row").min(), (~pl.col("valid")).sum().alias("invalid"), pl.len().alias("made")
    )
    by_cell: dict[str, InvalidCounts] = {}
    for row in counted.collect(engine="streaming").sort("row").iter_rows(named=True):
        by_cell.setdefault(row["cell"], {})[row["stack"]] = row["invalid"], row["made"]
    seen = dict.fromkeys(stack for counts in by_cell.values() for stack in counts)
    return _tested(by_cell, list(seen) if stacks is None else stacks)


def _tested(by_cell: Mapping[str, InvalidCounts], stacks: Sequence[str]) -> list[Bias]:
    tables = {
        cell: _rates([counts], stacks)
        for cell, counts in by_cell.items()
        if any(invalid for invalid, _ in counts.values())
    }
    adjusted = holm([_p(rates) for rates in tables.values()])
    lines = [
        Bias(cell=cell, rates=rates, p=p)
        for (cell, rates), p in zip(tables.items(), adjusted, strict=True)
    ]
    if not tables or len(by_cell) == 1:
        return lines
    whole = _rates(list(by_cell.values()), stacks)
    return [Bias(cell=EVERYWHERE, rates=whole, p=_p(whole)), *lines]


def _p(rates: Sequence[Rate]) -> float:
    return exact_rates([r.invalid for r in rates], [r.visits for r in rates])


def _rates(counts: Sequence[InvalidCounts], stacks: Sequence[str]) -> tuple[Rate, ...]:
    def sums(stack: str) -> Rate:
        own = [c.get(stack, (0, 0)) for c in counts]
        return Rate(stack=stack, invalid=sum(i for i, _ in own), visits=sum(n for _, n in own))

    return tuple(map(sums, stacks))
