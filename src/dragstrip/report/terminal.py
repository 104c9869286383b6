"""The result in the terminal: the answer, and a table for each page and network."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.answer import answer
from dragstrip.report.cells import Cell, StackResult, cells
from dragstrip.report.palette import colour
from dragstrip.report.words import DASH, duration, ratio
from dragstrip.stats.median import Median

_STYLE = {"shown": "bold", "not shown": "bold", "too few": "yellow", "none": "red"}


def render(study: Study, visits: Sequence[Visit]) -> RenderableType:
    """Print it with a `rich.console.Console`, on stderr if stdout carries JSON."""
    return Group(*_parts(study, visits))


def _parts(study: Study, visits: Sequence[Visit]) -> Iterator[RenderableType]:
    for cell in cells(study, visits):
        said = answer(cell, study.client.timeout_s)
        yield _table(cell)
        yield Text(said.sentence, style=_STYLE[said.standing])
        yield Text(said.believe + "\n", style="dim")


def _table(cell: Cell) -> Table:
    first = cell.results[0].stack.name
    table = Table(
        title=cell.where,
        caption=cell.network.describe(),
        title_justify="left",
        caption_justify="left",
        title_style="bold",
    )
    table.add_column("stack")
    table.add_column("page load, median", justify="right")
    table.add_column("first byte", justify="right")
    table.add_column(f"page load / {first} (95 %)", justify="right")
    table.add_column("valid", justify="right")
    table.add_column("not loaded", justify="right")
    for result in cell.results:
        table.add_row(*_row(result, baseline=result.stack.name == first))
    return table


def _row(result: StackResult, *, baseline: bool) -> list[Text]:
    return [
        Text(result.stack.name, style=f"bold {colour(result.stack.protocol)}"),
        Text(_value(result.medians["plt_ms"])),
        Text(_value(result.medians["ttfb_ms"])),
        Text("1" if baseline and result.loads else ratio(result.against_first["plt_ms"])),
        Text(
            f"{result.visits - result.invalid} of {result.visits}",
            style="red" if result.invalid else "",
        ),
        Text(str(result.censored), style="yellow" if result.censored else "dim"),
    ]


def _value(found: Median | None) -> str:
    return duration(found.value) if found else DASH
