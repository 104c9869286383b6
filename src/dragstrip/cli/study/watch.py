"""`dragstrip watch`: a live page of a result folder."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from dragstrip.model.errors import InputError
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
    try:
        from dragstrip.watch.serve import WATCH_PORT, serve
    except ModuleNotFoundError as error:
        raise _lacking(error) from None
    serve(folder, WATCH_PORT if port is None else port, _tell)
    return 0


def beside(folder: Path) -> AbstractContextManager[None]:
    """Show the page while a run writes to `folder`. Raises `InputError` if a needed package is
    missing."""
    try:
        from dragstrip.watch.serve import watching
    except ModuleNotFoundError as error:
        raise _lacking(error) from None
    return watching(folder, _tell)


def _tell(address: str) -> None:
    Console(stderr=True).print(f"watch: {address}", highlight=False, markup=False)


def _lacking(error: ModuleNotFoundError) -> InputError:
    return InputError(f"watching needs {error.name}: pip install 'dragstrip[watch]'")
