"""Servers that a study or command line defines, and the stacks of every server."""

import hashlib
import re
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from dragstrip.model.errors import InputError
from dragstrip.model.servers import Server, known
from dragstrip.model.stack import Stack

_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]*")
_SPACED = re.compile(r"\{\{\s*(\w+)\s*\}\}")
_BRACES = re.compile(r"(?<!\{)\{\s*(\w+)\s*\}(?!\})")
_QUIC_OF_ITS_OWN = (
    "congestion",
    "initial_window_packets",
    "pacing",
    "ecn",
    "slow_start_exit",
    "udp_payload_bytes",
    "ack_every_packets",
    "qpack_table_bytes",
    "early_data",
)
_BROUGHT: Mapping[str, Any] = {
    "fixed": {
        "tcp": {"pacing": False, "early_data": False, "priorities": False},
        "quic": {"priorities": False},
    },
    "own": {"quic": _QUIC_OF_ITS_OWN},
}
"""Defaults for a user's server; its table may override them. The kernel sets the server's
congestion control and initial window for TCP, so a stack can choose both."""


_OWN = {"program": {"command"}, "configuration": {"config", "config_file", "environment"}}


def read_server(name: str, table: Mapping[str, Any], folder: Path) -> Server:
    """Read a server from its TOML table. Paths in it are relative to `folder`.

    `config_file` names a file with the text of `config`. `base` names one of our servers, from
    which missing keys are taken. Raises `InputError`.
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"server {name!r}: a name consists of small letters, digits, dots and dashes"
        )
    if name in known():
        raise InputError(f"server {name!r} is one of dragstrip's own; choose another name")
    fields = {**_base(name, table), **table, "name": name}
    if _own_program(table):
        fields.pop("base", None)
    if "config_file" in fields:
        path = folder / fields.pop("config_file")
        try:
            fields["config"] = path.read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"server {name!r}: config_file {path}: {error}") from None
    if isinstance(command := fields.get("command"), str):
        fields["command"] = _words(command)
    try:
        server = msgspec.convert(fields, Server)
    except msgspec.ValidationError as error:
        raise InputError(f"server {name!r}: {error}") from None
    if server.base:
        return server
    program = _program(name, server.command[0], folder)
    return structs.replace(
        server,
        command=(str(program), *server.command[1:]),
        digest=hashlib.sha256(program.read_bytes()).hexdigest()[:12],
    )


def _base(name: str, table: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return default values of the table's keys, from its base if it has one. Raises
    `InputError`."""
    if "base" not in table:
        return _BROUGHT
    programs = {n: s for n, s in known().items() if s.driver == "program"}
    if (base := programs.get(str(table["base"]))) is None:
        raise InputError(
            f"server {name!r} has the unknown base {table['base']!r}; choose from "
            f"{', '.join(programs)}"
        )
    fields = {**msgspec.to_builtins(base), "port": 0}
    own = [what for what in ("program", "configuration") if table.keys() & _OWN[what]]
    fields["what"] = f"{base.name} with {' and '.join(own) or 'nothing'} of its own"
    if _own_program(table):
        fields |= {"package": "", "licence": "", "pinned": None}
    return fields


def _own_program(table: Mapping[str, Any]) -> bool:
    """Return whether the command starts another program than the base's (``{{ loader }}``)."""
    command = table.get("command", ())
    words = command.split() if isinstance(command, str) else command
    return bool(words) and not str(words[0]).startswith("{{")


def parse_server(text: str) -> Server:
    """Read a server from ``NAME=COMMAND``, or from a command alone, whose program then gives the
    name. The command may use the variables of templates, such as ``{port}``. Raises
    `InputError`."""
    named = re.match(r"([a-z0-9][a-z0-9_.-]*)=(?=\S)", text)
    try:
        command = _words(text[named.end() :] if named else text)
    except ValueError as error:
        raise InputError(f"--server {text!r}: {error}") from None
    if not command:
        raise InputError("--server needs a command, like --server './myserver {config}'")
    name = named[1] if named else re.sub(r"[^a-z0-9_.-]", "-", Path(command[0]).name.lower())
    return read_server(name, {"command": command}, Path.cwd())


def _words(command: str) -> list[str]:
    """Split a command as a shell does; ``{port}`` means ``{{ port }}``."""
    return [_BRACES.sub(r"{{ \1 }}", word) for word in shlex.split(_SPACED.sub(r"{\1}", command))]


def _program(server: str, program: str, folder: Path) -> Path:
    """Return the path of the program file, whose hash identifies the build. Raises `InputError`."""
    found = str(folder / program) if "/" in program else shutil.which(program)
    if not found or not Path(found).is_file():
        raise InputError(f"server {server!r}: no such program: {program}")
    return Path(found).absolute()


def stacks_of(server: Server) -> dict[str, Stack]:
    """Return the stock stacks of a server, by name: ``NAME-h2`` and so on, one per protocol that
    the server speaks."""
    made = (stack_on(server, protocol) for protocol in server.protocols)
    return {stack.name: stack for stack in made}


def stack_on(server: Server, protocol: str, **fields: Any) -> Stack:
    """Make a stack on this server. Raises `ValueError` for a protocol that the server does not
    speak, or for a field that it cannot set."""
    transport = "quic" if protocol in ("h3", "gquic") else "tcp"
    values = {
        "name": f"{server.name}-{protocol}",
        "source": server.what or f"the study's server {server.name}",
        "protocol": protocol,
        "server": server.name,
        "brought": None if server.name in known() else server,
        **server.fixed.get(transport, {}),
        **fields,
    }
    return Stack(**values)


def placed(stack: Stack, server: Server, stock: Stack) -> Stack:
    """Move the stack to `server`. Fields that differ from `stock`, the stock stack of the protocol,
    keep their values. Raises `InputError` if the server does not support one of them."""
    names = [f.name for f in structs.fields(Stack) if f.name not in ("name", "source", "server")]
    asked = {n: getattr(stack, n) for n in names if getattr(stack, n) != getattr(stock, n)}
    try:
        made = stack_on(server, stack.protocol, **asked)
    except ValueError as error:
        raise InputError(f"--stack {stack.name} on server {server.name}: {error}") from None
    return structs.replace(made, name=f"{server.name}-{stack.name}")
