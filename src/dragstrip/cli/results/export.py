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
    perfetto = "perfetto"
    qlog = "qlog"


class QlogVersionName(StrEnum):
    draft = "draft"
    older = "0.3"


_FILES = {
    ExportFormat.har: "HARs",
    ExportFormat.perfetto: "traces for ui.perfetto.dev",
    ExportFormat.qlog: "qlog files",
}


def export(
    folder: Annotated[Path, typer.Argument(help="Result folder of a race or run.", metavar="DIR")],
    to: Annotated[ExportFormat, typer.Option("--format", help="What to write.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder to write (default: DIR/export/FORMAT).")
    ] = None,
    qlog_version: Annotated[
        QlogVersionName,
        typer.Option(
            help="Of --format qlog: the IETF's draft, a text sequence per connection, or 0.3, a "
            "file per visit, which qvis reads."
        ),
    ] = QlogVersionName.draft,
) -> None:
    """Write tables, or a HAR, trace or qlog of each visit."""
    from dragstrip.results.capsule import Capsule
    from dragstrip.results.tables.export import export as write

    target = out or folder / "export" / to.value
    written = write(Capsule.open(folder), target, to.value, qlog_version.value)
    console = Console(stderr=True)
    if to in _FILES:
        console.print(f"{len(written)} {_FILES[to]} in {target}", highlight=False)
    else:
        console.print("\n".join(str(path) for path in written), highlight=False)
