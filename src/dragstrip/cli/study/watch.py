"""`dragstrip watch`: a live page of a result folder."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dragstrip.model.errors import importing
from dragstrip.results.capsule import Capsule


def watch(
    folder: Annotated[
        Path, typer.Argument(help="Result folder of a run, finished or not.", metavar="DIR")
    ],
    port: Annotated[
        int | None, typer.Option(help="Port on this machine (default: 8723); 0 picks a free one.")
    ] = None,
) -> int:
    """Show a live page of a running study."""
    Capsule.open(folder)
    with importing("watch", "watching"):
        from dragstrip.watch.serve import WATCH_PORT, serve
    serve(folder, WATCH_PORT if port is None else port, _tell)
    return 0


def beside(folder: Path) -> AbstractContextManager[None]:
    """Serve the live page while a run writes to `folder`. Raises `InputError` if a needed package
    is missing."""
    with importing("watch", "watching"):
        from dragstrip.watch.serve import watching
    return watching(folder, _tell)


def _tell(address: str) -> None:
    Console(stderr=True).print(f"watch: {address}", highlight=False, markup=False)
