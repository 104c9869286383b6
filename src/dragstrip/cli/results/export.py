"""`dragstrip export`: a capsule for other tools."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


class ExportFormat(StrEnum):
    csv = "csv"
    parquet = "parquet"
    har = "har"


def export(
    folder: Annotated[Path, typer.Argument(help="Result folder of a race or run.", metavar="DIR")],
    to: Annotated[ExportFormat, typer.Option("--format", help="What to write.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write (default: DIR/export/FORMAT).")
    ] = None,
) -> None:
    """Write a result folder's tables, or one HAR per visit."""
    from dragstrip.results.capsule import Capsule
    from dragstrip.results.tables.export import export as write

    target = out or folder / "export" / to.value
    written = write(Capsule.open(folder), target, to.value)
    console = Console(stderr=True)
    if to is ExportFormat.har:
        console.print(f"{len(written)} HARs in {target}", highlight=False)
    else:
        console.print("\n".join(str(path) for path in written), highlight=False)
