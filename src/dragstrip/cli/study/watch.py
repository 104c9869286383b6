"""`dragstrip watch`: a live page of a result folder."""

from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
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
    module = _server()
    module.serve(folder, module.PORT if port is None else port, _tell)
    return 0


def beside(folder: Path) -> AbstractContextManager[None]:
    """Show the page while a run writes to `folder`. Raises `InputError` if a needed package is
    missing."""
    found: AbstractContextManager[None] = _server().watching(folder, _tell)
    return found


def _tell(address: str) -> None:
    Console(stderr=True).print(f"watch: {address}", highlight=False, markup=False)


def _server() -> ModuleType:
    try:
        from dragstrip.watch import serve
    except ModuleNotFoundError as error:
        raise InputError(f"watching needs {error.name}: pip install 'dragstrip[watch]'") from None
    return serve
