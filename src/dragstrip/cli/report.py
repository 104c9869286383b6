"""`dragstrip report`: draw a capsule again."""

from pathlib import Path
from typing import Annotated

import typer

from dragstrip.cli.conduct import present


def report(
    folder: Annotated[Path, typer.Argument(help="Result folder of a race or run.", metavar="DIR")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> int:
    """Redraw tables and report of a result folder and print its answer."""
    return present(folder, as_json=as_json)
