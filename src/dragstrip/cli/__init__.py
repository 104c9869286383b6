"""The command line, one command per file. See docs/reference/command-line.md."""

import signal
import sys

import typer

from dragstrip.browsers.cdp import CdpError
from dragstrip.cli import exits, resume
from dragstrip.cli.commands import Commands
from dragstrip.model.errors import InputError
from dragstrip.testbed.errors import TestbedError

app = typer.Typer(
    name="dragstrip",
    cls=Commands,
    pretty_exceptions_enable=False,
    add_completion=False,
)


@app.callback(no_args_is_help=True)
def dragstrip() -> None:
    """Race web protocol stacks: the same page, the same emulated link, a real browser."""


def main() -> None:
    """Entry point of the `dragstrip` program; every foreseen error is one line.

    A batch system's word to end is as good as Ctrl-C: what runs is taken down in order.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(standalone_mode=False) or exits.DONE
    except typer.TyperException as error:
        _fail(" ".join(error.format_message().split()), exits.WRONG_INPUT)
    except InputError as error:
        _fail(str(error), exits.WRONG_INPUT)
    except (TestbedError, CdpError) as error:
        _fail(f"{error} (`dragstrip doctor` says what this machine lacks)", exits.NO_TESTBED)
    if code == exits.INTERRUPTED:
        _fail(resume.told(), exits.INTERRUPTED)
    sys.exit(code)


def _fail(message: str, code: int) -> None:
    """Without a message help was shown instead."""
    if message:
        sys.stderr.write(f"dragstrip: {message}\n")
    sys.exit(code)
