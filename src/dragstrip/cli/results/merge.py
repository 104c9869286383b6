"""`dragstrip merge`: shards of a study become one capsule."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dragstrip.cli.options import AsJson
from dragstrip.cli.study.conduct import present
from dragstrip.conduct.merge import merge as merged


def merge(
    part: Annotated[
        list[Path], typer.Argument(help="Result folders of one study.", metavar="DIR...")
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write; must not exist yet.")],
    as_json: AsJson = False,
) -> int:
    """Join the result folders of one study, such as its shards."""
    result = merged(part, out)
    console = Console(stderr=True)
    said = f"{result.visits} visits of {result.blocks} blocks from {len(part)} folders"
    if result.copies:
        said += f"; {result.copies} duplicates count once"
    console.print(said, highlight=False)
    if result.dropped:
        shown = ", ".join(result.dropped[:3]) + (", ..." if len(result.dropped) > 3 else "")
        console.print(
            f"{len(result.dropped)} blocks were made in several folders; one folder's visits count "
            f"for each ({shown})",
            highlight=False,
            markup=False,
        )
    return present(out, as_json=as_json)
