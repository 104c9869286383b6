"""`dragstrip page`: make pages and look at them."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from dragstrip.cli.places import page_cache
from dragstrip.model.errors import InputError
from dragstrip.model.page import Page
from dragstrip.pages.archive import write_page
from dragstrip.pages.resolve import Wish, import_page, page_name, resolve
from dragstrip.pages.show import Share, summarise
from dragstrip.pages.synth import synth as synthesise

app = typer.Typer(help="Import, synthesise and inspect pages.", no_args_is_help=True)

_Out = Annotated[Path | None, typer.Option("--out", "-o", help="Page file to write (.har.zip).")]


@app.command("import")
def import_(
    file: Annotated[
        Path,
        typer.Argument(help="HAR, WARC, saved HTML page, or Mahimahi folder.", metavar="FILE"),
    ],
    out: _Out = None,
    page: Annotated[str, typer.Option(help="Page of a HAR with many: number, id or title.")] = "",
    busy: Annotated[
        bool, typer.Option(help="Made-up scripts keep the browser busy as the recorded ones did.")
    ] = False,
) -> None:
    """Turn a recording into a page."""
    target = out or Path(f"{page_name(file)}.har.zip")
    if target.exists() and target.samefile(file):
        raise InputError(f"{file} would be overwritten; give another --out")
    _print(import_page(file, target, Wish(part=page, busy=busy)))


@app.command()
def synth(
    spec: Annotated[
        str,
        typer.Argument(
            help="Objects and size, like 64x10KB, 50x400B-8KB, 16x10KB:mix@4.", metavar="NxSIZE"
        ),
    ],
    hosts: Annotated[
        int | None, typer.Option(min=1, help="Spread the objects over this many.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the objects' content.")] = 0,
    out: _Out = None,
) -> None:
    """Make a page of N objects of exactly SIZE, or of sizes in a range."""
    recording = synthesise(spec, hosts=hosts, seed=seed)
    _print(write_page(out or Path(f"{recording.name}.har.zip"), recording))


@app.command()
def show(
    page: Annotated[str, typer.Argument(help="A recording, 'demo', or 'synth:64x10KB'.")],
) -> None:
    """Print a page's hosts, objects and bytes."""
    _print(resolve(page, page_cache()))


def _print(page: Page) -> None:
    facts = summarise(page)
    console = Console()
    console.print(f"[bold]{facts.name}[/bold]  {facts.url}", highlight=False)
    console.print(
        f"{facts.objects} objects, {_bytes(facts.wire_bytes)}, {len(facts.hosts)} hosts; "
        f"from {facts.source}; digest {facts.digest}\n{facts.path}",
        highlight=False,
    )
    for title, shares in (("host", facts.hosts), ("type", facts.types), ("status", facts.statuses)):
        console.print(_table(title, shares))
    for change in facts.changes:
        console.print(f"changed: {change}", highlight=False)


def _table(title: str, shares: tuple[Share, ...]) -> Table:
    table = Table(title, "objects", "bytes", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for share in shares:
        table.add_row(share.name, str(share.objects), _bytes(share.wire_bytes))
    return table


def _bytes(count: int) -> str:
    return f"{count / 1000:,.1f} kB"
