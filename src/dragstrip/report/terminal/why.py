"""Shows the attribution of a difference on the terminal: one sentence and one table per cell."""

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dragstrip.report.words.why import (
    UNEXPLAINED,
    basis,
    by_size,
    notes,
    place,
    sentence,
    span,
)
from dragstrip.report.words.wire_evidence import pointers, rows
from dragstrip.results.compare.attribution import Pooled, Why, WhyCell
from dragstrip.results.compare.wire_evidence import Evidence


def render(answer: Why) -> RenderableType:
    """Return the attribution to print with a `rich.console.Console`."""
    return Group(*_parts(answer))


def _parts(answer: Why) -> Iterator[RenderableType]:
    if not answer.cells:
        yield Text("No answer: no block counts on any cell.", style="red")
    every: list[WhyCell | Pooled] = [*answer.cells, *answer.pooled]
    for found in every:
        yield _table(answer, found)
        yield Text(sentence(answer, found) + "\n", style="bold")
        if isinstance(found, WhyCell) and found.evidence:
            yield from _evidence(answer, found.evidence)
    for said in notes(answer):
        yield Text(said, style="dim")


def _evidence(answer: Why, found: Evidence) -> Iterator[RenderableType]:
    """Yield observations of both stacks that point to causes which no experiment can show."""
    table = Table(title="seen, in the median visit", title_justify="left")
    table.add_column("", overflow="fold")
    for name in (answer.a, answer.b):
        table.add_column(name, justify="right", no_wrap=True)
    for row in rows(found):
        table.add_row(*row)
    yield table
    for said in pointers(found):
        yield Text(said)
    yield Text("")


def _table(answer: Why, found: WhyCell | Pooled) -> Table:
    table = Table(
        title=f"{place(answer, found)}: from {answer.a} to {answer.b}",
        caption=basis(found),
        title_justify="left",
        caption_justify="left",
        title_style="bold",
    )
    table.add_column("changed", overflow="fold")
    table.add_column(f"{answer.metric} after / before (95 %)", justify="right", no_wrap=True)
    for part in by_size(found):
        table.add_row(part.words, Text(span(part), style="bold" if part.shown else "dim"))
    table.add_row(UNEXPLAINED, span(found.unexplained))
    table.add_section()
    table.add_row(f"{answer.b} / {answer.a}", Text(span(found), style="bold"))
    return table
