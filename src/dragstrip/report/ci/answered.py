"""The answer of a study as Markdown, with its bars."""

from collections.abc import Iterator

from dragstrip.report.ci.markdown import plain, table
from dragstrip.report.data.one_page import ROWS, OnePage, OnePageCell
from dragstrip.report.words.bars import drawing
from dragstrip.report.words.effect import length, notes, told
from dragstrip.report.words.numbers import led


def answered_summary(page: OnePage) -> str:
    """Write a Markdown summary: the answer of each cell with its bars, or a table of many cells,
    the conditions, and what limits the answer."""
    lines = [f"### dragstrip: {plain(page.name)}", ""]
    if page.spelled_out:
        for cell in page.cells:
            lines += [*_answer(cell), ""]
    else:
        rows = [(c.title, led(c.lead), str(c.lead.blocks)) for c in page.cells[:ROWS]]
        lines += [*table(("cell", "who leads", "blocks"), rows), ""]
        if len(page.cells) > ROWS:
            lines += [f"{len(page.cells) - ROWS} more are in the report.", ""]
    lines += [f"- {name}: {plain(said)}" for name, said in page.conditions]
    lines += ["", "What limits this answer:", "", *(f"- {plain(one)}" for one in page.doubts)]
    return "\n".join(lines) + "\n"


def _answer(cell: OnePageCell) -> Iterator[str]:
    yield plain(cell.answer.sentence)
    yield ""
    if cell.bars:
        yield "| stack | | page load | |"
        yield "|---|---|---:|---|"
    for bar in cell.bars:
        said = plain(told(bar, cell.bars))
        yield f"| {plain(bar.stack.name)} | `{drawing(bar)}` | {length(bar)} | {said} |"
    yield ""
    yield plain(" ".join([*notes(cell.bars), cell.answer.believe]))
