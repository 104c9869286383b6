"""The networks and stacks that are known by name."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from dragstrip.model import servers
from dragstrip.model.browsers import is_path
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.study.networks import read_network
from dragstrip.study.servers import stacks_of
from dragstrip.study.tracefiles.network import PREFIX, trace_network

OVER_IPV6 = "ipv6:"
"""Prefix of a network's name or values that means the same network with `family = 6`."""
FILE = ".toml"
"""How the name of a network's own file ends."""


@cache
def networks() -> Mapping[str, Network]:
    """Networks by name, from networks.toml."""
    return {k: read_network(k, v, Path()) for k, v in _table("networks").items()}


@cache
def stacks() -> Mapping[str, Stack]:
    """Return stacks by name: those of stacks.toml and legacy_stacks.toml, and those of every other
    server."""
    known: dict[str, Stack] = {}
    for name, fields in (_table("stacks") | _table("legacy_stacks")).items():
        known[name] = make_stack(name, fields, known)
    for server in servers.known().values():
        if server.driver == "program":
            known |= stacks_of(server)
    return known


def make_stack(name: str, fields: Mapping[str, Any], known: Mapping[str, Stack]) -> Stack:
    """Make a stack from its TOML table. Missing fields come from the stack named by `base`.

    Raises `InputError` for an unknown base, and `msgspec.ValidationError` for any other error.
    """
    own = dict(fields)
    base = own.pop("base", None)
    if base is not None and base not in known:
        raise InputError(
            f"stack {name!r} has the unknown base {base!r}{suggest(str(base), known)}; choose from "
            f"{', '.join(known)}"
        )
    given = msgspec.to_builtins(known[base]) if base is not None else {}
    return msgspec.convert({**given, **own, "name": name}, Stack)


def find_network(text: str, folder: Path = Path()) -> Network:
    """Return a network by name, by ``100mbit/50ms`` or ``down/up/delay/loss/queue``, by
    ``trace:FILE``, or as a TOML file that holds what ``[network.NAME]`` of a study does. With
    ``ipv6:`` before any of them it is a network over IPv6. Files are relative to `folder`. Raises
    `InputError`."""
    if text in networks():
        return networks()[text]
    if text.startswith(OVER_IPV6):
        found = find_network(text.removeprefix(OVER_IPV6), folder)
        try:
            return structs.replace(found, name=f"{OVER_IPV6}{found.name}", family=6)
        except ValueError as error:
            raise InputError(f"network {text!r}: {error}") from None
    if text.startswith(PREFIX):
        return trace_network(text, folder)
    if text.endswith(FILE):
        return _of_file(folder / text)
    if "/" in text:
        return Network.parse(text)
    raise InputError(
        f"unknown network {text!r}{suggest(text, networks())}; choose from "
        f"{', '.join(networks())}, or give rate/delay like 100mbit/50ms, "
        "down/up/delay/loss/queue like 10.5mbit/2.8mbit/37ms/0%/200ms, trace:FILE, or a file "
        f"NAME.toml; each may have {OVER_IPV6} before it"
    )


def _of_file(path: Path) -> Network:
    try:
        table = msgspec.toml.decode(path.read_bytes())
    except OSError as error:
        raise InputError(f"network {path} cannot be read: {error.strerror}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"network {path} is not TOML: {error}") from None
    try:
        return read_network(path.stem, {"source": f"{path.name}"} | table, path.parent)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def find_stack(name: str) -> Stack:
    """Return the stack with this name. Raises `InputError`."""
    if name in stacks():
        return stacks()[name]
    raise InputError(
        f"unknown stack {name!r}{suggest(name, stacks())}; choose from {', '.join(stacks())}"
    )


def in_browser(stack: Stack, browser: str) -> Stack:
    """Return the stack with another browser, given by name or by the path of a Chromium. Raises
    `InputError`."""
    if is_path(browser) or Path(browser).is_file():
        browser = str(Path(browser).resolve())
    try:
        return structs.replace(stack, browser=browser)
    except ValueError as error:
        raise InputError(f"--browser {browser}: stack {stack.name!r}: {error}") from None


def suggest(name: str, known: Iterable[str]) -> str:
    """Return a suggestion for a misspelt name, such as `` (did you mean 'LTE'?)``, or an empty
    string."""
    by_lower = {k.lower(): k for k in known}
    close = get_close_matches(name.lower(), by_lower, n=1)
    return f" (did you mean {by_lower[close[0]]!r}?)" if close else ""


def _table(name: str) -> dict[str, dict[str, Any]]:
    text = resources.files("dragstrip.study").joinpath(f"{name}.toml").read_bytes()
    return msgspec.toml.decode(text, type=dict[str, dict[str, Any]])
