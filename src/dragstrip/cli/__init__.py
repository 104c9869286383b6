"""The command line, one command per file, grouped by what commands work on.

See docs/reference/command-line.md.
"""

import os
import signal
import sys
from typing import NoReturn

import typer
from typer._click.exceptions import NoArgsIsHelpError
from typer._completion_classes import completion_init

from dragstrip.cli import exits
from dragstrip.cli.commands import Commands

app = typer.Typer(
    name="dragstrip",
    cls=Commands,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode=None,  # rich would double the time of `dragstrip --help`
)


@app.callback(no_args_is_help=True)
def dragstrip() -> None:
    """Race web protocol stacks: the same page, the same emulated link, a real browser."""


def main() -> None:
    """Entry point of the `dragstrip` program; every expected error is one line.

    SIGTERM, which batch systems send, works like Ctrl-C: everything shuts down in order.
    """
    if "_DRAGSTRIP_COMPLETE" in os.environ:
        completion_init()
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        code = app(standalone_mode=False) or exits.DONE
    except NoArgsIsHelpError as error:
        sys.stderr.write(f"{error.ctx.get_help()}\n" if error.ctx else "")
        sys.exit(exits.WRONG_INPUT)
    except typer.TyperException as error:
        _fail(" ".join(error.format_message().split()), exits.WRONG_INPUT)
    except Exception as error:
        _foreseen(error)
    if code == exits.INTERRUPTED:
        from dragstrip.cli.study import resume

        _fail(resume.told(), exits.INTERRUPTED)
    sys.exit(code)


def _foreseen(error: Exception) -> NoReturn:
    """Print an expected error and exit; raise any other again.

    The classes are imported here, so `dragstrip --help` does not pay for them.
    """
    from dragstrip.browsers.cdp import CdpError
    from dragstrip.model.errors import InputError
    from dragstrip.testbed.errors import TestbedError

    if isinstance(error, InputError):
        _fail(str(error), exits.WRONG_INPUT)
    if isinstance(error, TestbedError | CdpError):
        _fail(f"{error} (`dragstrip doctor` says what this machine lacks)", exits.NO_TESTBED)
    raise error


def _fail(message: str, code: int) -> NoReturn:
    """Without a message, help was printed instead."""
    if message:
        sys.stderr.write(f"dragstrip: {message}\n")
    sys.exit(code)
