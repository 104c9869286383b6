"""A study file (TOML) becomes a study.

name = "first-race"
pages = ["demo", "recordings/reddit.warc.gz"]   # relative to this file
networks = ["LTE", "slow"]
stacks = ["h1", "h2", "h3"]
runs = 5
seed = 1                       # optional
done = "selector:#hero"        # optional: when a page counts as loaded; docs/howto/done.md
metrics = ["fcp", "object:/app.css:end"]   # optional: more to show
think_time = true              # optional: answers take as long as the recorded servers took
addresses = "one-each"         # optional: each host has its own address, whatever was recorded
controls = false               # optional, on: A/A and positive control
controls_every = 6             # optional: these in each sixth block only
restarts = 5                   # optional, 1: testbeds that the runs are spread over
warm_ups = 1                   # optional, 0: visits made and discarded before a stack's first
connections = ["first", "repeat"]   # optional, see dragstrip.model.stack.ConnectionMode

[network.slow]                 # optional, any number
down = { rate_mbps = 1, delay_ms = 50, loss = 0.01, queue_ms = 200 }
up = { rate_mbps = 0.5, delay_ms = 50, queue_ms = 200 }   # all fields: docs/reference/network.md

[stack."TCP+iw20"]             # optional, any number; base is optional too
base = "TCP+"
initial_window_packets = 20    # fields of dragstrip.model.stack.Stack

[server.mine]                  # optional, any number: docs/reference/server.md; its stacks are
command = "./mine {{ config }}"   # mine-h1, mine-h2 and mine-h3

[client]                       # optional, see dragstrip.model.study.Client
timeout_s = 60
program = "loader"             # optional: the load generator; without more also client = "loader"

[clock]                        # optional, see dragstrip.model.clock.Clock
kind = "network"               # virtual time, in which computing takes none
[stopping]                     # optional: stop a cell once it is decided; runs are the cap
margin = 0.05                  # fields of dragstrip.model.study.Stopping
[thresholds]                   # optional, see dragstrip.model.thresholds.Thresholds
steal_share = 0.05
# [sample] (dragstrip.study.sample.Sample) may stand in place of pages and networks
"""

from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, field, structs

from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client, Study
from dragstrip.pages.resolve import expand
from dragstrip.study.clients import loaded_by
from dragstrip.study.networks import placed, read_network
from dragstrip.study.presets import find_network, find_stack, make_stack, stacks
from dragstrip.study.sample import check_sample
from dragstrip.study.servers import read_server, stacks_of
from dragstrip.study.spec import SpecOptions, StudySpec

_Names = Annotated[list[str], Meta(min_length=1)]
MAX_SEED = 2**48


class StudyFile(SpecOptions, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The keys of a study file: the options, and the tables and names that they refer to.
    `dragstrip.study.schema` makes the JSON schema from this class."""

    name: str = ""
    """The study's name (default: the file's name without its ending)."""
    runs: Annotated[int, Meta(ge=1)]
    """Blocks per cell: each visits every stack once."""
    seed: Annotated[int, Meta(ge=0, lt=MAX_SEED)] = 0
    """Seed that decides the order of visits and which packets random loss drops."""
    pages: tuple[str, ...] = ()
    """Files relative to this one, `demo`, `synth:64x10KB`, names of the corpus, recorded pages."""
    networks: tuple[str, ...] = ()
    """Names (`dragstrip list networks`), `[network.NAME]` below, or values: `100mbit/50ms`, or
    `10.5mbit/2.8mbit/37ms/0%/200ms`."""
    stacks: _Names
    """Names (`dragstrip list stacks`), or `[stack.NAME]` below. The first is the one that the
    others are compared with."""
    network: dict[str, dict[str, Any]] = field(default_factory=dict)
    stack: dict[str, dict[str, Any]] = field(default_factory=dict)
    server: dict[str, dict[str, Any]] = field(default_factory=dict)
    client: dict[str, Any] | str = field(default_factory=dict)


def read_spec(path: Path) -> StudySpec:
    """Read a study file without making a page. Raises `InputError` naming file and place."""
    file = _decode(path)
    networks = {name: _own(path, name, table) for name, table in file.network.items()}
    options = {name: getattr(file, name) for name in SpecOptions.__struct_fields__}
    try:
        check_sample(file.sample, len(file.pages), len(file.networks))
        variations = _stacks(file.stack, _brought(path.parent, file.server))
        return StudySpec(
            **options | {"name": file.name or path.stem},
            pages=tuple(p for given in file.pages for p in expand(_beside(path, given))),
            networks=tuple(networks.get(n) or find_network(n, path.parent) for n in file.networks),
            stacks=loaded_by(
                [variations.get(s) or find_stack(s) for s in file.stacks],
                _program(file.client),
                "client",
            ),
            client=_client({} if isinstance(file.client, str) else file.client),
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_study(path: Path, cache: Path) -> Study:
    """Read and resolve a study file. Raises `InputError` naming file and place."""
    spec = read_spec(path)
    try:
        return spec.resolve(cache)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _decode(path: Path) -> StudyFile:
    try:
        return msgspec.toml.decode(path.read_bytes(), type=StudyFile)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {placed(str(error))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None


def _own(study: Path, name: str, table: dict[str, Any]) -> Network:
    try:
        return read_network(name, {"source": "given in the study file"} | table, study.parent)
    except InputError as error:
        raise InputError(f"{study}: network.{name}.{error}") from None


def _program(client: dict[str, Any] | str) -> str:
    named = client if isinstance(client, str) else client.get("program", "browser")
    return str(named)


def _client(table: dict[str, Any]) -> Client:
    """Read the client in a study file. Raises `InputError`. This is stricter than reading a client
    from a capsule."""
    if "browser" in table:
        raise InputError(
            'client.browser: a stack names its browser, like [stack.old] browser = "…"'
        )
    table = {name: value for name, value in table.items() if name != "program"}
    if unknown := set(table) - {f.name for f in structs.fields(Client)}:
        raise InputError(f"client: unknown key `{min(unknown)}`; docs/reference/study.md has all")
    try:
        return msgspec.convert(table, Client)
    except msgspec.ValidationError as error:
        raise InputError(f"client: {placed(str(error))}") from None


def _brought(folder: Path, tables: dict[str, dict[str, Any]]) -> dict[str, Stack]:
    """Return the stacks of the servers that a study defines, by name."""
    stacks_by_name: dict[str, Stack] = {}
    for name, table in tables.items():
        stacks_by_name |= stacks_of(read_server(name, table, folder))
    return stacks_by_name


def _stacks(tables: dict[str, dict[str, Any]], brought: dict[str, Stack]) -> dict[str, Stack]:
    """Return the stacks that the study defines, by name. A stack may be based on a known stack or
    on an earlier one in the file."""
    stacks_by_name = dict(brought)
    for name, fields in tables.items():
        try:
            stacks_by_name[name] = make_stack(name, fields, {**stacks(), **stacks_by_name})
        except msgspec.ValidationError as error:
            raise InputError(f"stack.{name}: {placed(str(error))}") from None
    return stacks_by_name


def _beside(study: Path, page: str) -> str:
    """Return a page's path relative to the study file, if a file is there; otherwise `page` as it
    is."""
    beside = study.parent / page
    return str(beside) if beside.exists() else page
