"""Do invalid visits strike some stacks more than others?

An invalid visit is made again, so a reason that strikes one stack more often chooses which of its
visits count, and every comparison with it is in doubt.
"""

from collections.abc import Iterable, Mapping, Sequence

import polars as pl
from msgspec import Struct

from dragstrip.model.visit import Visit
from dragstrip.stats.exact_rates import exact_rates
from dragstrip.stats.holm import holm

ALPHA = 0.05
EVERYWHERE = "all cells"


class Rate(Struct, frozen=True, kw_only=True):
    """Invalid visits of a stack, attempts that were made again included."""

    stack: str
    invalid: int
    visits: int


class Bias(Struct, frozen=True, kw_only=True):
    """Invalid rates of the stacks on one cell, or on all of them."""

    cell: str
    """``page|network``, for repeat visits with their mode; or `EVERYWHERE`."""
    rates: tuple[Rate, ...]
    p: float
    """That they differ only by chance (Fisher's exact test), adjusted for the number of lines."""

    @property
    def shown(self) -> bool:
        """The stacks are struck unequally."""
        return self.p < ALPHA


Counts = dict[str, tuple[int, int]]
"""Invalid visits and all of them, by stack."""


def bias(visits: Iterable[Visit], stacks: Sequence[str]) -> list[Bias]:
    """A line for each cell with an invalid visit, in the order the cells began; of several cells
    one for all of them comes first.

    Holm's correction is over these lines: a cell without an invalid visit cannot be biased.
    """
    by_cell: dict[str, Counts] = {}
    for visit in visits:
        counts = by_cell.setdefault(visit.block.rpartition("|")[0], {})
        invalid, made = counts.get(visit.stack, (0, 0))
        counts[visit.stack] = invalid + (not visit.valid), made + 1
    return _tested(by_cell, stacks)


def bias_of_table(table: pl.LazyFrame, stacks: Sequence[str]) -> list[Bias]:
    """As `bias`; `table` is visits.parquet."""
    cell = pl.col("block").str.replace(r"\|[^|]*$", "").alias("cell")
    counted = table.group_by(cell, "stack").agg(
        pl.col("row").min(), (~pl.col("valid")).sum().alias("invalid"), pl.len().alias("made")
    )
    by_cell: dict[str, Counts] = {}
    for row in counted.collect(engine="streaming").sort("row").iter_rows(named=True):
        by_cell.setdefault(row["cell"], {})[row["stack"]] = row["invalid"], row["made"]
    return _tested(by_cell, stacks)


def _tested(by_cell: Mapping[str, Counts], stacks: Sequence[str]) -> list[Bias]:
    tables = {
        cell: _rates([counts], stacks)
        for cell, counts in by_cell.items()
        if any(invalid for invalid, _ in counts.values())
    }
    if tables and len(by_cell) > 1:
        tables = {EVERYWHERE: _rates(list(by_cell.values()), stacks), **tables}
    found = [exact_rates([r.invalid for r in t], [r.visits for r in t]) for t in tables.values()]
    return [
        Bias(cell=cell, rates=table, p=p)
        for (cell, table), p in zip(tables.items(), holm(found), strict=True)
    ]


def _rates(counts: Sequence[Counts], stacks: Sequence[str]) -> tuple[Rate, ...]:
    def sums(stack: str) -> Rate:
        own = [c.get(stack, (0, 0)) for c in counts]
        return Rate(stack=stack, invalid=sum(i for i, _ in own), visits=sum(n for _, n in own))

    return tuple(map(sums, stacks))
