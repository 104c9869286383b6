"""Shows the result on the terminal: the answer, and a table for each page and network."""

from collections.abc import Iterator, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from dragstrip.model.study import Study
from dragstrip.report.data.answer import answer
from dragstrip.report.data.belief import Belief
from dragstrip.report.data.cells import ReportCell, StackResult
from dragstrip.report.data.families import families
from dragstrip.report.data.leaders import lead
from dragstrip.report.figures.palette import colour
from dragstrip.report.terminal.bars import bars
from dragstrip.report.words.numbers import DASH, amount, counted, duration, led, ratio
from dragstrip.results.observed import asked_metrics
from dragstrip.stats.median import Median
from dragstrip.visit.metric import Metric

_STYLE = {"shown": "bold", "not shown": "bold", "too few": "yellow", "none": "red"}
CELL_METRICS = ("plt_ms", "ttfb_ms")
"""Metrics shown for every cell, besides those that the study names."""
SPELLED_OUT = 12
"""Most cells of a study that are shown in full. Larger studies are shown as a list, with one line
per cell."""


def render(study: Study, cells: Sequence[ReportCell], found: Belief) -> RenderableType:
    """Return the result to print with a `rich.console.Console`, on stderr if stdout carries
    JSON."""
    shown = [_list(cells)] if len(cells) > SPELLED_OUT else _parts(study, cells)
    loads = {
        (c.page.name, c.network.name, c.connection): [r.loads for r in c.results] for c in cells
    }
    said = [Text(line) for line in families(study, loads)]
    return Group(*shown, *said, *_doubts(found))


def _parts(study: Study, cells: Sequence[ReportCell]) -> Iterator[RenderableType]:
    for cell in cells:
        said = answer(cell, study.client.timeout_s)
        yield _table(cell)
        if asked := asked_metrics(study):
            yield _asked(cell, asked)
        yield bars(cell)
        yield Text(said.sentence, style=_STYLE[said.standing])
        yield Text(said.believe + "\n", style="dim")


def _doubts(found: Belief) -> Iterator[RenderableType]:
    for one in found.reasons:
        yield Text(f"{one.code} ({counted(one.visits, 'visit')}): {one.meaning.what}", style="dim")
        yield Text(f"  what to do: {one.meaning.fix}", style="dim")
    if found.sentence:
        yield Text(found.sentence, style="red" if any(b.shown for b in found.bias) else "dim")
    if found.machines:
        yield Text(found.machines, style="dim")
    if changed := [f"{one.name} {one.value:g}" for one in found.limits if one.changed]:
        yield Text(f"limits of this study's verdict: {', '.join(changed)}", style="yellow")


def _list(cells: Sequence[ReportCell]) -> Table:
    table = Table(title="Page load time", title_justify="left", title_style="bold")
    for column in ("page", "network", "who leads, by how much"):
        table.add_column(column, overflow="fold")
    table.add_column("blocks", justify="right")
    for cell in cells:
        mode = "" if cell.connection == "first" else f", {cell.connection}"
        found = lead(cell)
        blocks = f"{cell.counted} of {cell.seen.begun}"
        table.add_row(Text(cell.page.name), Text(cell.network.name + mode), led(found), blocks)
    return table


def _table(cell: ReportCell) -> Table:
    first = cell.results[0].stack.name
    table = Table(
        title=cell.title,
        caption=cell.network.describe() if cell.page.live else cell.network.describe_with_names(),
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
    loaded = len(result.loads.values) > 0
    return [
        Text(result.stack.name, style=f"bold {colour(result.stack.protocol)}"),
        Text(_page_load(result)),
        Text(_value(result.medians.get("ttfb_ms"))),
        Text("1" if baseline and loaded else ratio(result.against_first.get("plt_ms"))),
        Text(
            f"{result.visits - result.invalid} of {result.visits}",
            style="red" if result.invalid else "",
        ),
        Text(str(result.censored), style="yellow" if result.censored else "dim"),
    ]


def _asked(cell: ReportCell, metrics: Sequence[Metric]) -> Table:
    """Make a table of the study's own metrics, one row each: medians, and ratios to the first
    stack."""
    first = cell.results[0].stack.name
    table = Table()
    table.add_column("median", overflow="fold")
    for result in cell.results:
        name = result.stack.name
        table.add_column(name if name == first else f"{name}; / {first} (95 %)", justify="right")
    for metric in metrics:
        table.add_row(metric.name.removesuffix("_ms"), *(_one(r, metric) for r in cell.results))
    return table


def _one(result: StackResult, metric: Metric) -> str:
    middle = result.medians.get(metric.name)
    against = result.against_first.get(metric.name)
    said = amount(middle.value if middle else None, metric.unit)
    return f"{said}; {ratio(against)}" if against else said


def _page_load(result: StackResult) -> str:
    """Write the median page load time. If the median load did not end, only "longer than the limit"
    is known."""
    found = _value(result.medians.get("plt_ms"))
    return f"> {found}" if result.censored * 2 > len(result.loads.values) else found


def _value(found: Median | None) -> str:
    return duration(found.value) if found else DASH
