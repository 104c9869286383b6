"""`dragstrip list`: everything that is known by name."""

import shutil
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from dragstrip.browsers.registry import browser_version
from dragstrip.cli import added
from dragstrip.cli.pages.known import list_pages
from dragstrip.execution.guest.kernel import recipe
from dragstrip.model import servers
from dragstrip.model.browsers import BROWSERS, TODAY
from dragstrip.model.servers import Server
from dragstrip.study.devices import DEVICES
from dragstrip.study.presets import networks, stacks
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.legacy.catalogue import catalogue
from dragstrip.testbed.servers.packages import unpacked


class ListKind(StrEnum):
    networks = "networks"
    stacks = "stacks"
    servers = "servers"
    browsers = "browsers"
    devices = "devices"
    pages = "pages"
    papers = "papers"


def known(kind: Annotated[ListKind, typer.Argument(help="What to list.")]) -> None:
    """List networks, stacks, servers, devices, pages and more."""
    table = Table(box=None, pad_edge=False)
    table.add_column("name", style="bold", no_wrap=True)
    if kind is ListKind.networks:
        table.add_column("is")
        table.add_column("source")
        for network in networks().values():
            table.add_row(network.name, network.describe(), network.source)
    elif kind is ListKind.stacks:
        # Each stack takes two lines, so that 80 columns suffice.
        table.columns[0].header = "name, fingerprint"
        table.add_column("is, source")
        for stack in stacks().values():
            said = Text(stack.describe()).append(f"\n{stack.source}", style="dim")
            table.add_row(Text(stack.name).append(f"\n{stack.fingerprint}", style="not bold"), said)
    elif kind is ListKind.servers:
        table.add_column("speaks")
        table.add_column("is")
        table.add_column("there")
        for server in servers.known().values():
            spoken = ", ".join(server.protocols)
            table.add_row(server.name, spoken, server.what, _there(server))
    elif kind is ListKind.devices:
        table.add_column("slower than a fast desktop")
        table.add_column("such as, class")
        for name, device in DEVICES.items():
            table.add_row(name, f"{device.cpu_slowdown:g}x", device.what)
    elif kind is ListKind.pages:
        list_pages(table)
    elif kind is ListKind.papers:
        added.load(added.LISTS, "papers", added.PAPERS, "`dragstrip list papers`")(table)
    else:
        table.add_column("speaks")
        table.add_column("is")
        table.add_column("there")
        for name, browser in BROWSERS.items():
            table.add_row(name, ", ".join(browser.speaks), browser.what, _version(name))
        guest = recipe.installed()
        there = f"guest kernel: {guest}" if guest else "dragstrip virtual install"
        table.add_row("--virtual", "", "any browser, in virtual time", there)
        table.add_row("PATH", ", ".join(BROWSERS[TODAY].speaks), "your own Chromium", "")
    Console().print(table)


def _version(browser: str) -> str:
    try:
        return browser_version(browser)
    except TestbedError as error:
        return str(error)


def _there(server: Server) -> str:
    """Return the server's version, or the command that installs it."""
    if server.package:
        packages = unpacked(server)
        return packages[0].version if packages else f"dragstrip servers install {server.name}"
    if server.item and not catalogue()[server.item].installed:
        return f"dragstrip legacy install {catalogue()[server.item].group}"
    missing = [package for name, package in server.needs.items() if not shutil.which(name)]
    return f"apt-get install {' '.join(missing)}" if missing else "yes"
