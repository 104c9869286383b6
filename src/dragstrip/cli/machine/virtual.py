"""`dragstrip virtual`: the kernel of guests, for races in virtual time."""

import sys
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from msgspec import Struct
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from dragstrip.cli import exits
from dragstrip.execution.guest.kernel import recipe
from dragstrip.execution.guest.kernel.build import build
from dragstrip.execution.guest.kernel.prebuilt import pack, take

app = typer.Typer(help="Install the kernel for races in virtual time.", no_args_is_help=True)


class KernelReport(Struct, frozen=True, kw_only=True):
    """The kernel as `--json` prints it."""

    name: str
    path: str
    bytes: int
    licence: str


@app.callback()
def virtual() -> None:
    """Install the kernel for races in virtual time."""


@app.command("install")
def install(
    source: Annotated[
        Path | None,
        typer.Option(help="Linux sources, .deb or .tar (default: download Debian's)."),
    ] = None,
    prebuilt: Annotated[
        Path | None,
        typer.Option(help="Archive made by `dragstrip virtual pack` (default: build the kernel)."),
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Build it again.")] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what is installed as JSON.")
    ] = False,
) -> int:
    """Build the guest's kernel into the cache folder, in about five minutes on two cores."""
    console = Console(stderr=True)
    there = None if again else recipe.installed()
    if not there and prebuilt:
        there = take(prebuilt)
    if there:
        console.print(f"{recipe.name_of(there)} is installed: {there}", highlight=False)
    else:
        there = _build(console, source)
    if as_json:
        report = KernelReport(
            name=recipe.name_of(there),
            path=str(there),
            bytes=there.stat().st_size,
            licence=recipe.LICENCE,
        )
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(report), indent=2) + b"\n")
    return exits.DONE


@app.command("pack")
def pack_(
    out: Annotated[
        Path | None,
        typer.Option(
            "--out", "-o", help="Archive to write (default: NAME.tar.xz in the current folder)."
        ),
    ] = None,
) -> int:
    """Write the built kernel to an archive that others can install."""
    there = recipe.kernel()
    archive = out or Path(f"{recipe.name_of(there)}.tar.xz")
    pack(there, archive)
    size = archive.stat().st_size / 1e6
    Console(stderr=True).print(
        f"{archive}: {size:.1f} MB. {recipe.LICENCE}: if you pass it on, offer its sources too, "
        f"the Debian package {recipe.PACKAGE}.",
        highlight=False,
    )
    return exits.DONE


def _build(console: Console, source: Path | None) -> Path:
    origin = f"{source}" if source else f"{recipe.PACKAGE} of Debian {recipe.SUITE}"
    fetched = "" if source else f"about {recipe.BYTES / 1e6:.0f} MB to download, "
    console.print(
        f"[bold]the guest's kernel[/bold]: Linux as an ordinary program (user-mode Linux)\n"
        f"  from {origin}: {fetched}2.5 GB of disk while it is built, 8 MB afterwards\n"
        f"  licence: {recipe.LICENCE}\n"
        f"  changed: {recipe.rules()}",
        highlight=False,
    )
    began = time.monotonic()
    columns = (TextColumn("  {task.description}"), BarColumn(), TextColumn("{task.fields[there]}"))
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as bar:
        task = bar.add_task("downloading", total=None, there="")

        def told(what: str, arrived: int) -> None:
            there = f"{arrived / 1e6:.0f} MB" if arrived else "about 5 min on two cores"
            bar.update(task, description=what, there=there)

        kernel = build(source, told)
    took = time.monotonic() - began
    console.print(f"  installed in {took:.0f} s: {kernel}", highlight=False)
    return kernel
