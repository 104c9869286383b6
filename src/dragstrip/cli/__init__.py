"""The command line, one command per file. See docs/reference/command-line.md."""

import signal
import sys

import typer

from dragstrip.browsers.cdp import CdpError
from dragstrip.cli import (
    audit,
    compare,
    doctor,
    exits,
    export,
    known,
    legacy,
    link,
    merge,
    page,
    race,
    rejudge,
    report,
    reproduce,
    resume,
    run,
    servers,
    stacks,
    virtual,
    why,
)
from dragstrip.model.errors import InputError
from dragstrip.testbed.errors import TestbedError

app = typer.Typer(
    name="dragstrip",
    help="Race web protocol stacks: the same page, the same emulated link, a real browser.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)
app.command()(race.race)
app.command()(run.run)
app.command()(reproduce.reproduce)
app.command()(why.why)
app.command()(report.report)
app.command()(rejudge.rejudge)
app.command()(merge.merge)
app.command()(audit.audit)
app.command(context_settings={"allow_interspersed_args": False})(link.link)
app.command()(compare.compare)
app.command()(export.export)
app.add_typer(page.app, name="page")
app.add_typer(stacks.app, name="stacks")
app.add_typer(servers.app, name="servers")
app.add_typer(servers.app, name="server", hidden=True)
app.add_typer(legacy.app, name="legacy")
app.add_typer(virtual.app, name="virtual")
app.command("list")(known.known)
app.command()(doctor.doctor)


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
    sys.stderr.write(f"dragstrip: {message}\n")
    sys.exit(code)
