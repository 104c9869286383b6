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
    found = merged(part, out)
    console = Console(stderr=True)
    said = f"{found.visits} visits of {found.blocks} blocks from {len(part)} folders"
    if found.copies:
        said += f"; {found.copies} duplicates count once"
    console.print(said, highlight=False)
    if found.dropped:
        shown = ", ".join(found.dropped[:3]) + (", ..." if len(found.dropped) > 3 else "")
        console.print(
            f"{len(found.dropped)} blocks were made in several folders; one folder's visits count "
            f"for each ({shown})",
            highlight=False,
            markup=False,
        )
    return present(out, as_json=as_json)
