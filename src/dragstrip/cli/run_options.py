"""Declares the options of commands that run studies. Each command gets them as one `RunOptions`."""

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from inspect import Parameter
from typing import Any

from msgspec import structs

from dragstrip.cli.options import (
    AdmitOthers,
    ByClient,
    Calibrate,
    ClusterOption,
    Computing,
    DeviceOption,
    Jobs,
    Out,
    Restarts,
    ShardOption,
    Virtual,
    WatchOption,
)
from dragstrip.conduct.options import RunOptions

WORDS: Mapping[str, Any] = {
    "out": Out,
    "calibrate": Calibrate,
    "virtual": Virtual,
    "computing": Computing,
    "client": ByClient,
    "device": DeviceOption,
    "jobs": Jobs,
    "restarts": Restarts,
    "shard": ShardOption,
    "cluster": ClusterOption,
    "admit_other_machines": AdmitOthers,
    "watch": WatchOption,
}
"""The command-line form of each field of `RunOptions`, in the order of the help."""

Command = Callable[..., int]


def takes_run_options(
    *, without: tuple[str, ...] = (), after: Mapping[str, tuple[str, ...]] = {}, **words: Any
) -> Callable[[Command], Command]:
    """Put the options of `WORDS` in the place of a command's parameter `options`.

    The command does not offer the options in `without`. `after` moves options in the help: it maps
    a parameter to the options that follow it. `words` replace entries of `WORDS`.

    >>> @takes_run_options(without=("shard",), after={"page": ("out",)})
    ... def race(page: str, *, options: RunOptions, as_json: bool = False) -> int: ...
    """
    defaults = {field.name: field.default for field in structs.fields(RunOptions)}
    offered = [name for name in WORDS if name not in without]
    moved = [name for names in after.values() for name in names]

    def option(name: str) -> Parameter:
        annotation = words.get(name, WORDS[name])
        return Parameter(
            name, Parameter.KEYWORD_ONLY, default=defaults[name], annotation=annotation
        )

    def parameters(command: Command) -> Iterator[Parameter]:
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "options":
                yield from (option(name) for name in offered if name not in moved)
            else:
                yield parameter.replace(kind=Parameter.KEYWORD_ONLY)
            yield from (option(name) for name in after.get(parameter.name, ()))

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_options(**given: Any) -> int:
            options = RunOptions(**{name: given.pop(name) for name in offered})
            return command(**given, options=options)

        shown = inspect.signature(command).replace(parameters=list(parameters(command)))
        with_options.__signature__ = shown  # type: ignore[attr-defined]
        with_options.__annotations__ = {p.name: p.annotation for p in shown.parameters.values()}
        return with_options

    return decorate
