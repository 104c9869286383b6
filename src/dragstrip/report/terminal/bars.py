"""A cell's answer as bars of text: which stack is faster, by how much, how sure."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dragstrip.report.data.cells import ReportCell
from dragstrip.report.data.effect import effects
from dragstrip.report.data.lead_bars import LeadBar, lead_bars
from dragstrip.report.figures.palette import colour
from dragstrip.report.words.bars import drawing
from dragstrip.report.words.effect import length, notes, told


def bars(cell: ReportCell) -> RenderableType:
    """Draw the bars, and sentences on differences of spread below. Without a comparison nothing is
    drawn."""
    found = effects(cell)
    drawn = lead_bars(cell, found)
    table = Table.grid(padding=(0, 1))
    for _ in range(2):
        table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for bar in drawn:
        style = colour(bar.stack.protocol)
        row = Text(bar.stack.name, style=f"bold {style}"), Text(drawing(bar), style=style)
        table.add_row(*row, Text(length(bar)), Text(told(bar, drawn)))
    return Group(table, *_notes(drawn))


def _notes(drawn: list[LeadBar]) -> Iterator[Text]:
    for note in notes(drawn):
        yield Text(note, style="dim")
