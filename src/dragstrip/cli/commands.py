"""The table of commands. A command is imported only when needed, because importing all takes half a
second."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any, NamedTuple

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from dragstrip.cli import added


class CommandEntry(NamedTuple):
    summary: str
    """The first line of the command's help. `dragstrip --help` prints it without importing the
    command."""
    module: str = ""
    """Module in this package. The module defines `app`, or a function named like the module."""
    package: str = ""
    """The other package that brings the command, see `dragstrip.cli.added`."""
    hidden: bool = False
    passes_on: bool = False
    """Whether everything after the first argument belongs to another program."""


COMMANDS = {
    "race": CommandEntry("Race stacks on pages over networks; say which is faster.", "study.race"),
    "run": CommandEntry("Run a study, or resume one.", "study.run"),
    "reproduce": CommandEntry(
        "Run a paper's studies within a time limit; answer its claims.", package=added.PAPERS
    ),
    "why": CommandEntry("Find out which properties make two stacks differ.", "study.why"),
    "league": CommandEntry("Rank servers in every discipline, or resume a league.", "study.league"),
    "report": CommandEntry(
        "Redraw a result folder's tables and report; print its answer.", "results.report"
    ),
    "rejudge": CommandEntry(
        "Judge a result folder's visits again; show what changes.", "results.rejudge"
    ),
    "merge": CommandEntry(
        "Join the result folders of one study, such as its shards.", "results.merge"
    ),
    "watch": CommandEntry("Show a live page of a running study.", "study.watch"),
    "audit": CommandEntry("Check captures of page loads against what they claim.", "results.audit"),
    "link": CommandEntry("Run a program behind the emulated link.", "machine.link", passes_on=True),
    "compare": CommandEntry(
        "Compare two result folders; fail a build with --fail-if.", "results.compare"
    ),
    "export": CommandEntry(
        "Write tables, or a HAR, trace or qlog of each visit.",
        "results.export",
    ),
    "page": CommandEntry("Record, import, synthesise and inspect pages.", "pages.page"),
    "network": CommandEntry("Show a network; draw its traces.", "machine.network"),
    "stacks": CommandEntry("Compare stacks.", "stacks"),
    "servers": CommandEntry("Install and check servers such as nginx.", "machine.servers"),
    "server": CommandEntry(
        "Install and check servers such as nginx.", "machine.servers", hidden=True
    ),
    "legacy": CommandEntry(
        "Install old browsers and servers, for SPDY and Google QUIC.", "machine.legacy"
    ),
    "virtual": CommandEntry("Install the kernel for races in virtual time.", "machine.virtual"),
    "list": CommandEntry(
        "List networks, stacks, servers, devices, pages and more.",
        "known",
    ),
    "schema": CommandEntry("Print the JSON schema of study files, for editors.", "schema"),
    "completion": CommandEntry(
        "Print or install shell completion (bash, zsh, fish).", "completion"
    ),
    "manual": CommandEntry("Print the manual page, for man.", "manual"),
    "setup": CommandEntry(
        "Install the packages that races need, with apt. Asks first.", "machine.setup"
    ),
    "doctor": CommandEntry(
        "Check whether this machine can race; say what to do.", "machine.doctor"
    ),
}


class AbsentCommand(TyperCommand):
    """Stands in for a command whose package is not installed, and for the command's help."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raise `InputError`, unless a shell asks for completions of `args`."""
        from dragstrip.model.errors import absent_package

        if ctx.resilient_parsing:
            return []
        raise absent_package(COMMANDS[str(self.name)].package, f"`dragstrip {self.name}`")


class Commands(TyperGroup):
    """Imports a command only to run it or to print its help."""

    _listing = False

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        known = COMMANDS.get(cmd_name)
        if known is None:
            return None
        if self._listing:
            hidden = known.hidden or not present(cmd_name)
            return TyperCommand(cmd_name, help=known.summary, hidden=hidden)
        return load(cmd_name)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters without those that Typer adds: `dragstrip completion` replaces
        them."""
        return [p for p in super().get_params(ctx) if not str(p.name).endswith("_completion")]

    def format_help(self, ctx: Any, formatter: Any) -> None:
        with self._as_list():
            super().format_help(ctx, formatter)

    @contextmanager
    def _as_list(self) -> Iterator[None]:
        self._listing = True
        try:
            yield
        finally:
            self._listing = False


def present(name: str) -> bool:
    """Return whether the package that brings the command is installed."""
    entry = COMMANDS[name]
    return not entry.package or added.present(entry.package)


def load(name: str) -> Any:
    """Return the command itself. If its package is not installed, return a command that says how to
    get it."""
    entry = COMMANDS[name]
    if not present(name):
        return AbsentCommand(name, help=entry.summary, hidden=True)
    if entry.package:
        found = added.load(added.COMMANDS, name, entry.package, f"`dragstrip {name}`")
        return _alone(name, entry, found)
    module = import_module(f"dragstrip.cli.{entry.module}")
    if hasattr(module, "app"):
        return get_group(module.app)
    return _alone(name, entry, getattr(module, entry.module.rpartition(".")[2]))


def _alone(name: str, entry: CommandEntry, function: Any) -> Any:
    alone = typer.Typer(add_completion=False)
    settings = {"allow_interspersed_args": False} if entry.passes_on else None
    alone.command(name, context_settings=settings)(function)
    return get_command(alone)
