"""A study file (TOML) becomes a study.

name = "first-race"
pages = ["demo", "recordings/reddit.warc.gz"]   # relative to this file
networks = ["LTE", "slow"]
stacks = ["h1", "h2", "h3"]
runs = 5
seed = 1                       # optional
connections = ["first", "repeat"]   # optional, see dragstrip.model.stack.ConnectionMode

[network.slow]                 # optional, any number
down = { rate_mbps = 1, delay_ms = 50, loss = 0.01, queue_ms = 200 }
up = { rate_mbps = 0.5, delay_ms = 50, queue_ms = 200 }

[stack."TCP+iw20"]             # optional, any number; base is optional too
base = "TCP+"
initial_window_packets = 20    # fields of dragstrip.model.stack.Stack

[client]                       # optional, see dragstrip.model.study.Client
timeout_s = 60
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from dragstrip.model.errors import InputError
from dragstrip.model.network import Direction, Network
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.study import Client, Study
from dragstrip.pages.resolve import resolve
from dragstrip.study.presets import find_network, find_stack, make_stack, stacks

_Names = Annotated[list[str], Meta(min_length=1)]
MAX_SEED = 2**48


class _Network(Struct, forbid_unknown_fields=True):
    down: Direction
    up: Direction
    source: str = "given in the study file"


class _File(Struct, forbid_unknown_fields=True, kw_only=True):
    pages: _Names
    networks: _Names
    stacks: _Names
    runs: Annotated[int, Meta(ge=1)]
    name: str = ""
    seed: Annotated[int, Meta(ge=0, lt=MAX_SEED)] = 0
    network: dict[str, _Network] = {}
    stack: dict[str, dict[str, Any]] = {}
    connections: Annotated[tuple[ConnectionMode, ...], Meta(min_length=1)] = ("first",)
    client: Client = Client()


def read_study(path: Path, cache: Path) -> Study:
    """Read and resolve a study file. Raises `InputError` naming file and place."""
    try:
        file = msgspec.toml.decode(path.read_bytes(), type=_File)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {_placed(str(error))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    own = {
        name: Network(name=name, down=n.down, up=n.up, source=n.source)
        for name, n in file.network.items()
    }
    try:
        variations = _stacks(file.stack)
        return make_study(
            name=file.name or path.stem,
            pages=[_beside(path, page) for page in file.pages],
            networks=[own.get(n) or find_network(n) for n in file.networks],
            stacks=[variations.get(s) or find_stack(s) for s in file.stacks],
            connections=file.connections,
            runs=file.runs,
            seed=file.seed,
            client=file.client,
            cache=cache,
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def make_study(
    *,
    name: str,
    pages: Sequence[str],
    networks: Sequence[Network],
    stacks: Sequence[Stack],
    connections: Sequence[ConnectionMode] = ("first",),
    runs: int,
    seed: int,
    client: Client,
    cache: Path,
) -> Study:
    """A study of resolved parts; imported pages go to `cache`. Raises `InputError`."""
    if runs < 1:
        raise InputError(f"{runs} runs measure nothing: ask for at least 1")
    if len(stacks) < 2:
        raise InputError("a race needs at least two stacks, like --stack h2 --stack h3")
    resolved = [resolve(page, cache) for page in pages]
    for what, names in (
        ("page", [p.name for p in resolved]),
        ("network", [n.name for n in networks]),
        ("stack", [s.name for s in stacks]),
        ("connection", [str(c) for c in connections]),
    ):
        if twice := {n for n in names if names.count(n) > 1}:
            raise InputError(f"{what} {min(twice)!r} is given twice")
    return Study(
        name=name,
        pages=tuple(resolved),
        networks=tuple(networks),
        stacks=tuple(stacks),
        connections=tuple(connections),
        runs=runs,
        seed=seed,
        client=client,
    )


def _stacks(tables: dict[str, dict[str, Any]]) -> dict[str, Stack]:
    """Variations may build upon the known stacks and upon those before them."""
    own: dict[str, Stack] = {}
    for name, fields in tables.items():
        try:
            own[name] = make_stack(name, fields, {**stacks(), **own})
        except msgspec.ValidationError as error:
            raise InputError(f"stack.{name}: {_placed(str(error))}") from None
    return own


def _beside(study: Path, page: str) -> str:
    """A page's path is relative to the study file; other forms stay."""
    beside = study.parent / page
    return str(beside) if beside.exists() else page


def _placed(message: str) -> str:
    """msgspec says ``... - at `$.runs```; put the place first."""
    found = re.fullmatch(r"(.*) - at `\$\.?(.*)`", message)
    return f"{found[2]}: {found[1]}" if found else message
