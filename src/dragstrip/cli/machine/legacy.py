"""`dragstrip legacy`: old browsers and servers, from the package registries."""

import sys
from enum import StrEnum
from typing import Annotated

import msgspec
import typer
from msgspec import Struct
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from dragstrip.cli import exits
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import OPTIONAL, Item, catalogue
from dragstrip.testbed.legacy.install import install, lacking

app = typer.Typer(
    help="Install old browsers and servers, for SPDY and Google QUIC.", no_args_is_help=True
)


class Which(StrEnum):
    gquic = "gquic"
    spdy = "spdy"
    netty = "netty"
    all = "all"


class LegacyReport(Struct, frozen=True, kw_only=True):
    """An item as `--json` prints it."""

    name: str
    what: str
    package: str
    version: str
    bytes: int
    licence: str
    changed: str
    path: str


@app.callback()
def legacy() -> None:
    """Install old browsers and servers, for SPDY and Google QUIC."""


@app.command("install")
def install_(
    which: Annotated[Which, typer.Argument(help="What to install.")] = Which.all,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what is installed as JSON.")
    ] = False,
) -> int:
    """Download them into the cache folder, check them, and build what needs building."""
    console = Console(stderr=True)
    items = [i for i in catalogue().values() if which in (Which.all, i.group)]
    if which is Which.all:
        items = [item for item in items if not _left_out(console, item)]
    missing = [item for item in items if not item.installed]
    if lack := lacking(missing):
        raise TestbedError(lack)
    for item in items:
        if item in missing:
            _explain(console, item)
            _install(console, item)
        else:
            console.print(
                f"{item.name} {item.version} is installed: {item.program}", highlight=False
            )
    if as_json:
        report = msgspec.json.encode([_report(item) for item in items])
        sys.stdout.buffer.write(msgspec.json.format(report, indent=2) + b"\n")
    return exits.DONE


def _left_out(console: Console, item: Item) -> bool:
    lack = lacking([item]) if item.group in OPTIONAL and not item.installed else ""
    if lack:
        console.print(f"skipping {item.name}: {lack}", highlight=False)
    return bool(lack)


def _report(item: Item) -> LegacyReport:
    return LegacyReport(
        name=item.name,
        what=item.what,
        package=item.package,
        version=item.version,
        bytes=item.bytes,
        licence=item.licence,
        changed=item.changed,
        path=str(item.program),
    )


def _explain(console: Console, item: Item) -> None:
    console.print(
        f"[bold]{item.name}[/bold]: {item.what}\n"
        f"  {item.package} {item.version} by {item.registry}, {item.bytes / 1e6:.0f} MB; "
        f"licence: {item.licence}",
        highlight=False,
    )
    if item.changed:
        console.print(f"  changed: {item.changed}", highlight=False)


def _install(console: Console, item: Item) -> None:
    columns = (TextColumn("  {task.description}"), BarColumn(), DownloadColumn())
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("fetching", total=item.bytes)

        def shown(arrived: int) -> None:
            # Unpacking and building take more space than the archive.
            what = "fetching" if arrived < item.bytes else "unpacking"
            bar.update(task, completed=min(arrived, item.bytes), description=what)

        install(item, shown)
    console.print(f"  installed: {item.program}", highlight=False)
