"""`dragstrip stacks diff A B`: what differs between two stacks, in words."""

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from dragstrip.model.stack import differences
from dragstrip.study.presets import find_stack

app = typer.Typer(help="Compare stacks.", no_args_is_help=True)


@app.callback()
def stacks() -> None:
    """Compare stacks."""


@app.command()
def diff(
    a: Annotated[str, typer.Argument(help="A stack's name.", metavar="A")],
    b: Annotated[str, typer.Argument(help="Another stack's name.", metavar="B")],
) -> None:
    """Print what differs between two stacks."""
    one, other = find_stack(a), find_stack(b)
    rows = differences(one, other)
    console = Console()
    if not rows:
        console.print(f"{a} and {b} are the same stack ({one.fingerprint})", highlight=False)
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column(a, style="bold")
    table.add_column(b, style="bold")
    for what, ours, theirs in rows:
        table.add_row(what, ours, theirs)
    console.print(table)
