"""`dragstrip manual`: the manual page, generated from the commands."""

import sys
from collections.abc import Iterator

from dragstrip.cli import exits
from dragstrip.cli.usage import Usage, every

CODES = {
    exits.DONE: "Done.",
    exits.FAILED_CONDITION: "The comparison failed the given condition.",
    exits.WRONG_INPUT: "Wrong input.",
    exits.NO_TESTBED: "The testbed cannot run here. `dragstrip doctor` says why.",
    exits.STAYED_INVALID: "Too many blocks stayed invalid (`compare --fail-if`: in A or B).",
    exits.INTERRUPTED: "Interrupted. The last line is the command that resumes.",
}
_HEAD = r""".TH DRAGSTRIP 1 "" "dragstrip" "User Commands"
.SH NAME
dragstrip \- race web protocol stacks: the same page, the same emulated link, a real browser
.SH SYNOPSIS
\fBdragstrip\fR \fICOMMAND\fR [\fIOPTION\fR]...
.SH COMMANDS"""


def manual() -> int:
    """Print the manual page, for man."""
    sys.stdout.write(page())
    return exits.DONE


def page() -> str:
    """Return the manual page in man(7) markup."""
    lines = [_HEAD]
    for usage in every():
        lines += _command(usage)
    lines.append(".SH EXIT STATUS")
    for code, meaning in CODES.items():
        lines += [".TP", str(code), _plain(meaning)]
    return "\n".join(lines) + "\n"


def _command(usage: Usage) -> Iterator[str]:
    yield f".SS \\fB{_plain(usage.name)}\\fR {_plain(usage.synopsis)}"
    yield _plain(usage.help)
    for parameter in (*usage.arguments, *usage.options):
        yield ".TP"
        yield f"\\fB{_plain(parameter.names)}\\fR"
        yield _plain(parameter.help)


def _plain(text: str) -> str:
    """Return the text escaped for man(7)."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
