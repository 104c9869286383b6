"""`dragstrip servers`: install common servers, show their configuration, and check any server."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.console import Console

from dragstrip.cli import exits
from dragstrip.cli.ci import Annotate, JunitFile, MarkdownFile, make_room, write_for_ci
from dragstrip.cli.places import page_cache
from dragstrip.conduct.conformance import conformance
from dragstrip.model.errors import InputError
from dragstrip.model.servers import Server, known
from dragstrip.pages.generators.ranges import ranges_page
from dragstrip.pages.resolve import resolve
from dragstrip.report.ci.checked import checked_suite, checked_summary
from dragstrip.study.file import read_spec
from dragstrip.study.presets import suggest
from dragstrip.study.servers import parse_server
from dragstrip.testbed.servers.packages import UnpackedPackage, home_of, unpacked
from dragstrip.testbed.servers.sources import install
from dragstrip.testbed.servers.sources.source import Teller

app = typer.Typer(help="Install and check servers such as nginx.", no_args_is_help=True)


@app.callback()
def servers() -> None:
    """Install and check servers such as nginx."""


@app.command("install")
def install_(
    names: Annotated[list[str], typer.Argument(help="Servers by name.", metavar="SERVER...")],
    again: Annotated[
        bool,
        typer.Option("--again", help="Download again: Debian's latest version, or the pinned one."),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print what is installed as JSON.")
    ] = False,
) -> int:
    """Download servers into the cache folder; nothing is installed system-wide."""
    console = Console(stderr=True)
    wanted = [_installable(name) for name in names]
    for server in wanted:
        if unpacked(server) and not again:
            console.print(f"{server.name} is installed: {home_of(server)}", highlight=False)
            continue
        console.print(
            f"[bold]{server.name}[/bold]: {server.what}; licence: {server.licence}",
            highlight=False,
        )
        with console.status("") as status:
            tell = Teller(
                announce=lambda what: console.print(f"  {what}", highlight=False),
                status=lambda what: status.update(f"  {what}"),
            )
            packages = install(server, tell)
        console.print(_installed(server, packages), highlight=False)
    if as_json:
        found = {s.name: {"path": str(home_of(s)), "packages": unpacked(s)} for s in wanted}
        text = msgspec.json.encode(found)
        sys.stdout.buffer.write(msgspec.json.format(text, indent=2) + b"\n")
    return exits.DONE


def _installed(server: Server, packages: tuple[UnpackedPackage, ...]) -> str:
    first, size = packages[0], sum(p.bytes for p in packages) / 1e6
    more = f", with {len(packages) - 1} others" if packages[1:] else ""
    return (
        f"  {first.name} {first.version} ({first.archive}){more}, {size:.0f} MB; digest of each "
        f"in {home_of(server)}/packages.json"
    )


def _installable(name: str) -> Server:
    can = {server.name: server for server in known().values() if server.package}
    if name not in can:
        raise InputError(
            f"unknown server {name!r}{suggest(name, can)}; choose from: {', '.join(can)}"
        )
    return can[name]


@app.command()
def show(
    server: Annotated[
        str, typer.Argument(help="A server's name, such as nginx.", metavar="SERVER")
    ],
) -> int:
    """Print the template of a server's configuration, to change it for one of your own."""
    can = {one.name: one for one in known().values() if one.config}
    if server not in can:
        raise InputError(
            f"unknown server {server!r}{suggest(server, can)}; choose from: {', '.join(can)}"
        )
    sys.stdout.write(can[server].config)
    return exits.DONE


@app.command()
def check(
    server: Annotated[
        str,
        typer.Argument(
            help="A server's name, or the command that starts yours, like './myserver {config}'.",
            metavar="SERVER",
        ),
    ],
    page: Annotated[str, typer.Option(help="Page that the server must serve.")] = "demo",
    study: Annotated[
        Path | None, typer.Option(help="Study file that defines the server (default: none).")
    ] = None,
    junit: JunitFile = None,
    annotate: Annotate = None,
    markdown: MarkdownFile = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False,
) -> int:
    """Try everything that a race asks of a server; print what works, and what cannot be checked."""
    make_room(junit, markdown, as_json=as_json)
    found = []
    table = Console(stderr=as_json or markdown == Path("-"))
    chosen = _server(server, study)
    for finding in conformance(chosen, resolve(page, page_cache()), ranges_page(page_cache())):
        found.append(finding)
        mark = {"yes": "[green]yes    [/green]", "no": "[red]no     [/red]"}.get(
            finding.outcome, "[yellow]unknown[/yellow]"
        )
        said = f": {finding.said}" if finding.said else ""
        table.print(f"{mark} {finding.protocol}  {finding.what}{said}", highlight=False)
    if as_json:
        text = msgspec.json.encode(found)
        sys.stdout.buffer.write(msgspec.json.format(text, indent=2) + b"\n")
    if junit or annotate or markdown:
        suite = checked_suite(chosen.name, page, found)
        summary = checked_summary(suite, found)
        write_for_ci(suite, summary, junit=junit, annotate=annotate, markdown=markdown)
    return exits.FAILED_CONDITION if any(f.outcome == "no" for f in found) else exits.DONE


def _server(name: str, study: Path | None) -> Server:
    if study:
        stacks = read_spec(study).stacks
        brought = {s.brought.name: s.brought for s in stacks if s.brought}
        if name not in brought:
            raise InputError(f"{study}: no stack of this study is on server {name!r}")
        return brought[name]
    return known().get(name) or parse_server(name)
