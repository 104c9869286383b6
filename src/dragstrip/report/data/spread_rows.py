"""Makes rows with the spread of page load times on a cell: 95th percentile and interquartile range
of each stack."""

from collections.abc import Iterator

from msgspec import Struct

from dragstrip.model.stack import Stack
from dragstrip.report.data.cells import ReportCell
from dragstrip.report.words.numbers import DASH
from dragstrip.results.compare.stacks import spread
from dragstrip.stats.spread import LEAST, STATISTICS, Statistic, statistic_of


class SpreadRow(Struct, frozen=True):
    """The spread of one stack's page load times."""

    stack: Stack
    columns: tuple[tuple[float, str], ...]
    """Value in ms of each of `STATISTICS`, with its ratio to the first stack, in words."""


def spread_rows(cell: ReportCell) -> Iterator[SpreadRow]:
    """Yield a row with the spread of each stack on a cell; none if no block counts."""
    first = cell.results[0].stack.name
    for result in cell.results:
        loads_ms = result.loads.known.tolist()
        if loads_ms:
            name = result.stack.name
            columns = (
                (statistic_of(loads_ms, s), _ratio(cell, first, name, s)) for s in STATISTICS
            )
            yield SpreadRow(result.stack, tuple(columns))


def _ratio(cell: ReportCell, first: str, name: str, statistic: Statistic) -> str:
    if name == first:
        return "1"
    found = spread(cell.seen, first, name, statistic)
    if found is None:
        return DASH
    if found.low is None or found.high is None:
        return f"{found.ratio:.3f} (an interval needs {LEAST[statistic]} loads)"
    return f"{found.ratio:.3f} ({found.low:.3f} to {found.high:.3f})"
