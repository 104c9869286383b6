"""The command line, one command per file, grouped by what commands work on.

See docs/reference/command-line.md.
"""

import os
import signal
import sys
from typing import NoReturn

import typer

from dragstrip.cli import exits
from dragstrip.cli.commands import Commands

COMPLETE = "_DRAGSTRIP_COMPLETE"
"""Name of the variable in which a shell asks for completions; it follows from the program's."""

app = typer.Typer(
    name="dragstrip",
    cls=Commands,
    pretty_exceptions_enable=False,
    add_completion=COMPLETE in os.environ,
    rich_markup_mode=None,  # with rich, `dragstrip --help` would take twice as long
)


@app.callback(invoke_without_command=True)
def dragstrip(context: typer.Context) -> None:
    """Race web protocol stacks: the same page, the same emulated link, a real browser."""
    if context.invoked_subcommand is None:
        sys.stderr.write(f"{context.get_help()}\n")
        raise typer.Exit(exits.WRONG_INPUT)


def main() -> None:
    """Entry point of the `dragstrip` program; every expected error is printed as one line.

    SIGTERM, which batch systems send, works like Ctrl-C: everything shuts down in order.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(standalone_mode=False) or exits.DONE
    except typer.TyperException as error:
        _fail(" ".join(error.format_message().split()), exits.WRONG_INPUT)
    except Exception as error:
        _foreseen(error)
    if code == exits.INTERRUPTED:
        from dragstrip.cli.study import resume

        _fail(resume.message(), exits.INTERRUPTED)
    sys.exit(code)


def _foreseen(error: Exception) -> NoReturn:
    """Print an expected error and exit; raise any other error again."""
    from dragstrip.model.errors import DragstripError, InputError
    from dragstrip.testbed.errors import ProgramEnded

    if isinstance(error, InputError):
        _fail(str(error), exits.WRONG_INPUT)
    if isinstance(error, ProgramEnded):
        _fail(f"{error} (visits made before are kept)", exits.NO_TESTBED)
    if isinstance(error, DragstripError):
        _fail(f"{error} (`dragstrip doctor` says what this machine lacks)", exits.NO_TESTBED)
    raise error


def _fail(message: str, code: int) -> NoReturn:
    """Print the message, unless help was printed instead, and exit with this code."""
    if message:
        sys.stderr.write(f"dragstrip: {message}\n")
    sys.exit(code)
