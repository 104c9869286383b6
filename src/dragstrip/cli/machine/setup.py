"""`dragstrip setup`: install what races need from Debian's or Ubuntu's packages."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from dragstrip.cli import exits
from dragstrip.execution.guest.kernel.recipe import PROGRAMS
from dragstrip.model.errors import InputError
from dragstrip.testbed import packages, wpe
from dragstrip.testbed.packages import HEADLESS, SystemPackage
from dragstrip.testbed.servers.sources.source import Teller

GROUPS: dict[str, tuple[SystemPackage, ...]] = {
    "races": packages.BASE,
    "firefox": packages.FIREFOX_PACKAGES,
    "chromium": packages.CHROMIUM_PACKAGES,
    "virtual": (
        *(SystemPackage(name=p, brings=b, use="building the kernel") for b, p in PROGRAMS.items()),
        SystemPackage(name="libc6-dev", brings="/usr/include/stdio.h", use="building the kernel"),
    ),
}
_WPE = "wpe"
_NO_CHROMIUM = (
    f"{HEADLESS} is not in this system's archive (Ubuntu has no such package): install Google "
    "Chrome or another Chromium and race with `--browser /path/to/chrome`"
)


def setup(
    groups: Annotated[
        list[str] | None,
        typer.Argument(
            help="What to install packages for (default: races). `firefox`, `chromium` and "
            "`virtual` are extras. `wpe` is WPE WebKit: dragstrip downloads it into the cache "
            "folder.",
            metavar="[races|firefox|chromium|virtual|wpe]...",
            show_default=False,
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Install without asking.")] = False,
) -> int:
    """Install the packages that races need, with apt. Asks first."""
    console = Console(stderr=True, highlight=False)
    asked = groups or ["races"]
    wanted = [p for group in asked if group != _WPE for p in _group(group)]
    if _WPE in asked:
        _download_wpe(console)
    if not wanted:
        return exits.DONE
    lacking = packages.missing(wanted)
    if not lacking:
        console.print("Everything is installed. `dragstrip doctor` checks this machine.")
        return exits.DONE
    command = packages.install_command(lacking)
    console.print("Missing here:")
    for package in lacking:
        console.print(f"  {package.name}: {package.use}")
    console.print(f"apt would install them:\n  {' '.join(command)}")
    if not yes and not _agreed():
        console.print("Nothing was installed.")
        return exits.DONE
    packages.update()
    available = [p for p in lacking if packages.offered(p)]
    if available:
        packages.install(available)
    return _told(console, [p for p in lacking if p not in available])


def _download_wpe(console: Console) -> None:
    """Download WPE WebKit unless it is installed. Raises `TestbedError`."""
    if wpe.packages():
        console.print(f"{wpe.version()} is installed: {wpe.home()}")
        return
    with console.status("") as status:
        tell = Teller(
            announce=lambda what: console.print(what), status=lambda what: status.update(what)
        )
        wpe.install(tell)
    console.print(f"{wpe.version()}: {wpe.home()}")


def _group(name: str) -> Sequence[SystemPackage]:
    if name not in GROUPS:
        raise InputError(f"setup {name}: no such group; choose from {', '.join((*GROUPS, _WPE))}")
    return GROUPS[name]


def _agreed() -> bool:
    if not sys.stdin.isatty():
        raise InputError(
            "setup asks before it installs, and there is no terminal to ask on: add --yes"
        )
    return typer.confirm("Install them?", err=True)


def _told(console: Console, absent: list[SystemPackage]) -> int:
    for package in absent:
        what = _NO_CHROMIUM if package.name == HEADLESS else f"{package.name} is not available here"
        console.print(f"{what} (for {package.use}).")
    if any(p.needed for p in absent):
        return exits.NO_TESTBED
    console.print("Done. `dragstrip doctor` checks this machine.")
    return exits.DONE
