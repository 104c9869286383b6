"""Lists every command with its arguments and options, for the manual page and the reference."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from dragstrip.cli.commands import COMMANDS, load, present


class Parameter(NamedTuple):
    names: str
    """The option with its type, such as ``--runs INTEGER``, or an argument's name."""
    help: str
    """The help text, with the default if there is one."""


class Usage(NamedTuple):
    name: str
    """The command with its group, such as ``page import``."""
    synopsis: str
    help: str
    arguments: list[Parameter]
    options: list[Parameter]


def every() -> Iterator[Usage]:
    """Yield all commands that `dragstrip --help` shows, in its order."""
    for name, known in COMMANDS.items():
        if not known.hidden and present(name):
            yield from _within(load(name), name)


def _within(command: Any, name: str) -> Iterator[Usage]:
    if hasattr(command, "commands"):
        for inner, its in command.commands.items():
            if not its.hidden:
                yield from _within(its, f"{name} {inner}")
        return
    context = command.make_context(name, [], resilient_parsing=True)
    shown = [p for p in command.params if not getattr(p, "hidden", False)]
    arguments = [p for p in shown if p.param_type_name == "argument"]
    options = [p for p in shown if p.param_type_name == "option" and p.name != "help"]
    yield Usage(
        name=name,
        synopsis=" ".join(command.collect_usage_pieces(context)),
        help=" ".join((command.help or "").split()),
        arguments=[_parameter(p, context) for p in arguments],
        options=[_parameter(p, context) for p in options],
    )


def _parameter(parameter: Any, context: Any) -> Parameter:
    names, said = parameter.get_help_record(context) or (parameter.name, parameter.help or "")
    names = names.replace("<list[str]>", "<str>, repeatable")
    return Parameter(" ".join(names.split()), " ".join(said.split()))
