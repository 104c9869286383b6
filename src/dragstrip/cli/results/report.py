"""`dragstrip report`: redraw a capsule's report."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dragstrip.cli.ci import MarkdownFile, make_room, write_file, write_markdown
from dragstrip.cli.options import AsJson
from dragstrip.cli.study.conduct import present


def report(
    folder: Annotated[Path, typer.Argument(help="Result folder of a race or run.", metavar="DIR")],
    visit: Annotated[
        list[str] | None,
        typer.Option(
            help="Draw a page for this visit too, BLOCK|STACK|ATTEMPT. Repeatable (default: none).",
            metavar="ID",
        ),
    ] = None,
    pdf: Annotated[
        Path | None,
        typer.Option(
            help="Also print the answer on one page of A4 to this file; needs Chromium (default: "
            "none).",
            metavar="FILE",
        ),
    ] = None,
    markdown: MarkdownFile = None,
    as_json: AsJson = False,
) -> int:
    """Redraw a result folder's tables and report; print its answer."""
    make_room(pdf, markdown, as_json=as_json)
    if pdf:
        from dragstrip.browsers.generations import find_chromium

        find_chromium()  # before the work
    code = present(folder, as_json=as_json, also=visit or ())
    if pdf or markdown:
        _one_page(folder, pdf, markdown)
    return code


def _one_page(folder: Path, pdf: Path | None, markdown: Path | None) -> None:
    from dragstrip.browsers.printing import pdf_of
    from dragstrip.report.ci.answered import answered_summary
    from dragstrip.report.data.one_page import one_page
    from dragstrip.report.site.one_page import html
    from dragstrip.results.capsule import Capsule
    from dragstrip.results.tables.build import scan

    capsule = Capsule.open(folder)
    page = one_page(capsule.manifest, scan(capsule, "visits"))
    if markdown:
        write_markdown(markdown, answered_summary(page))
    if pdf:
        write_file(pdf, pdf_of(html(capsule.manifest.study, page)))
        Console(stderr=True).print(f"one page: {pdf}", highlight=False)
