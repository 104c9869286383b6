"""`dragstrip report`: redraw a capsule's report."""

from pathlib import Path
from typing import Annotated

import typer

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
    as_json: AsJson = False,
) -> int:
    """Redraw a result folder's tables and report; print its answer."""
    return present(folder, as_json=as_json, also=visit or ())
