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

from collections import Counter
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, structs

from dragstrip.model.addresses import Addresses
from dragstrip.model.clock import REAL, Clock
from dragstrip.model.done import parse_done
from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.study import Client, Slow, Stopping, Study
from dragstrip.model.thresholds import DEFAULTS, Thresholds
from dragstrip.pages.live import live_page
from dragstrip.pages.resolve import expand, resolve
from dragstrip.pages.think import check_think_times
from dragstrip.study.clients import check_cache, loaded_by
from dragstrip.study.controls import controls_of
from dragstrip.study.networks import placed, read_network
from dragstrip.study.possible import check
from dragstrip.study.presets import find_network, find_stack, make_stack, stacks
from dragstrip.study.sample import Sample, check_sample, draw
from dragstrip.study.servers import read_server, stacks_of

_Names = Annotated[list[str], Meta(min_length=1)]
MAX_SEED = 2**48


class StudyFile(Struct, forbid_unknown_fields=True, kw_only=True):
    """The keys of a study file. `dragstrip.study.schema` makes its JSON schema of them."""

    pages: list[str] = []
    """Files relative to this one, `demo`, `synth:64x10KB`, names of the corpus, recorded pages."""
    networks: list[str] = []
    """Names (`dragstrip list networks`), `[network.NAME]` below, or values: `100mbit/50ms`, or
    `10.5mbit/2.8mbit/37ms/0%/200ms`."""
    stacks: _Names
    """Names (`dragstrip list stacks`), or `[stack.NAME]` below. The first is what others are
    compared with."""
    runs: Annotated[int, Meta(ge=1)]
    """Blocks per cell: each visits every stack once."""
    name: str = ""
    """By default the file's name without its ending."""
    seed: Annotated[int, Meta(ge=0, lt=MAX_SEED)] = 0
    """Decides the order of visits and which packets random loss takes."""
    network: dict[str, dict[str, Any]] = {}
    stack: dict[str, dict[str, Any]] = {}
    connections: Annotated[tuple[ConnectionMode, ...], Meta(min_length=1)] = ("first",)
    """How each visit finds the browser: cold, or after a first load of the page."""
    server: dict[str, dict[str, Any]] = {}
    client: dict[str, Any] | str = {}
    think_time: bool = False
    """Answers take as long as the recorded servers took."""
    addresses: Addresses = "recorded"
    """Hosts share addresses and certificates as in the page's recording, where it tells, or each
    host has its own (`one-each`)."""
    controls: bool = True
    """Blocks also visit the first stack under another name (A/A control) and one round trip late
    (positive control)."""
    controls_every: Annotated[int, Meta(ge=1)] = 1
    """Which blocks of a cell do: each Nth, beginning with the first."""
    warm_ups: Annotated[int, Meta(ge=0)] = 0
    """Visits made and discarded before a stack's first."""
    restarts: Annotated[int, Meta(ge=1)] = 1
    """How many starts of testbed and browsers the blocks are spread over."""
    stopping: Stopping | None = None
    """Ends a cell once it is decided. Without it every cell has all its runs."""
    slow: Slow | None = None
    """Fewer runs for cells whose loads take long."""
    thresholds: Thresholds = Thresholds()
    """The verdict's limits."""
    clock: Clock = REAL
    """Real or virtual time."""
    sample: Sample | None = None
    """Cells drawn from ranges, instead of `pages` and `networks`."""
    metrics: list[str] = []
    """Metrics to show besides page load time and first byte: `fcp` and others, or an object's
    `start`, `first-byte` or `end`, like `object:/css/late.css:end`."""
    done: str = ""
    """When a page counts as loaded: `load`, `network-idle`, `selector:CSS` or `mark:NAME`. By
    default, what the page's file says, or else the load event."""


class Outline(Struct, frozen=True, kw_only=True):
    """A study file before its pages are made: enough to count and to estimate."""

    name: str
    pages: tuple[str, ...]
    """As given, sets of the corpus taken apart."""
    networks: tuple[Network, ...]
    stacks: tuple[Stack, ...]
    connections: tuple[ConnectionMode, ...]
    runs: int
    seed: int
    client: Client
    think_time: bool
    addresses: Addresses = "recorded"
    controls: bool
    controls_every: int = 1
    warm_ups: int
    stopping: Stopping | None
    slow: Slow | None = None
    restarts: int = 1
    thresholds: Thresholds
    clock: Clock = REAL
    sample: Sample | None = None
    done: str = ""
    metrics: tuple[str, ...] = ()

    @property
    def visited(self) -> tuple[Stack, ...]:
        """All that blocks visit: stacks and controls."""
        return self.stacks + (controls_of(self.stacks) if self.controls else ())

    def visits_in(self, runs: int) -> int:
        """How many visits this many blocks of a cell have."""
        besides = len(self.visited) - len(self.stacks)
        return runs * len(self.stacks) + ceil(runs / self.controls_every) * besides

    @property
    def visits_per_block(self) -> float:
        """In the mean over its runs."""
        return self.visits_in(self.runs) / self.runs


def read_outline(path: Path) -> Outline:
    """Read a study file without making a page. Raises `InputError` naming file and place."""
    try:
        file = msgspec.toml.decode(path.read_bytes(), type=StudyFile)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.ValidationError as error:
        raise InputError(f"{path}: {placed(str(error))}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not TOML: {error}") from None
    own = {name: _own(path, name, table) for name, table in file.network.items()}
    try:
        check_sample(file.sample, len(file.pages), len(file.networks))
        variations = _stacks(file.stack, _brought(path.parent, file.server))
        return Outline(
            name=file.name or path.stem,
            pages=tuple(p for given in file.pages for p in expand(_beside(path, given))),
            networks=tuple(own.get(n) or find_network(n, path.parent) for n in file.networks),
            stacks=loaded_by(
                [variations.get(s) or find_stack(s) for s in file.stacks],
                _program(file.client),
                "client",
            ),
            connections=file.connections,
            runs=file.runs,
            seed=file.seed,
            client=_client({} if isinstance(file.client, str) else file.client),
            think_time=file.think_time,
            addresses=file.addresses,
            controls=file.controls,
            controls_every=file.controls_every,
            warm_ups=file.warm_ups,
            stopping=file.stopping,
            slow=file.slow,
            restarts=file.restarts,
            thresholds=file.thresholds,
            clock=file.clock,
            sample=file.sample,
            done=file.done,
            metrics=tuple(file.metrics),
        )
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def read_study(path: Path, cache: Path) -> Study:
    """Read and resolve a study file. Raises `InputError` naming file and place."""
    read = read_outline(path)
    try:
        return make_study(**{n: getattr(read, n) for n in read.__struct_fields__}, cache=cache)
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
    think_time: bool = False,
    addresses: Addresses = "recorded",
    controls: bool = False,
    controls_every: int = 1,
    warm_ups: int = 0,
    stopping: Stopping | None = None,
    slow: Slow | None = None,
    restarts: int = 1,
    thresholds: Thresholds = DEFAULTS,
    clock: Clock = REAL,
    sample: Sample | None = None,
    done: str = "",
    metrics: Sequence[str] = (),
    live: bool = False,
    ca: Path | None = None,
    cache: Path,
) -> Study:
    """A study of resolved parts; imported pages go to `cache`. Raises `InputError`.

    A `sample` takes the place of pages and networks. `done` replaces what each page says of itself.
    With `live` pages are URLs of real sites; `ca` is a further authority to trust there.
    """
    if done:
        parse_done(done)
    if runs < 1:
        raise InputError(f"{runs} runs measure nothing: ask for at least 1")
    if not 1 <= restarts <= runs:
        raise InputError(f"restarts: {runs} runs can be spread over 1 to {runs}, not {restarts}")
    if len(stacks) < 2:
        raise InputError("a race needs at least two stacks, like --stack h2 --stack h3")
    if ca and not ca.is_file():
        raise InputError(f"there is no certificate {ca}")
    if live and clock.virtual:
        raise InputError("a live page is raced in real time: its servers' clocks cannot be virtual")
    drawn = draw(sample, seed) if sample else []
    if drawn:
        pages = list(dict.fromkeys(d.page for d in drawn))
        networks = list({d.network.name: d.network for d in drawn}.values())
    if live:
        resolved = [live_page(page) for page in pages]
    else:
        resolved = [resolve(page, cache) for given in pages for page in expand(given)]
    besides = controls_of(stacks, live=live) if controls else ()
    for what, names in (
        ("page", [p.name for p in resolved]),
        ("network", [n.name for n in networks]),
        ("stack", [s.name for s in (*stacks, *besides)]),
        ("connection", [str(c) for c in connections]),
    ):
        if twice := {n for n, times in Counter(names).items() if times > 1}:
            raise InputError(f"{what} {min(twice)!r} is given twice")
    if done:
        resolved = [structs.replace(page, done=done) for page in resolved]
    if think_time:
        check_think_times(resolved)
    check_cache(stacks, connections)
    check(networks, stacks, client, pages=resolved, addresses=addresses, live=live)
    called = dict(zip(pages, (p.name for p in resolved), strict=True)) if drawn else {}
    return Study(
        name=name,
        pages=tuple(resolved),
        networks=tuple(networks),
        stacks=tuple(stacks),
        connections=tuple(connections),
        runs=runs,
        seed=seed,
        client=client,
        think_time=think_time,
        addresses=addresses,
        controls=besides,
        controls_every=controls_every,
        warm_ups=warm_ups,
        stopping=stopping,
        slow=slow,
        restarts=restarts,
        ca=str(ca.absolute()) if ca else "",
        thresholds=thresholds,
        metrics=tuple(metrics),
        clock=clock,
        only=tuple((called[d.page], d.network.name, c) for d in drawn for c in connections),
        sampled=bool(drawn),
        per_guest=sample.per_guest if sample else 1,
    )


def _own(study: Path, name: str, table: dict[str, Any]) -> Network:
    try:
        return read_network(name, {"source": "given in the study file"} | table, study.parent)
    except InputError as error:
        raise InputError(f"{study}: network.{name}.{error}") from None


def _program(client: dict[str, Any] | str) -> str:
    named = client if isinstance(client, str) else client.get("program", "browser")
    return str(named)


def _client(table: dict[str, Any]) -> Client:
    """Raises `InputError`. What a capsule says of its client is not asked so strictly."""
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
    """The stacks of the servers that a study brings."""
    found: dict[str, Stack] = {}
    for name, table in tables.items():
        found |= stacks_of(read_server(name, table, folder))
    return found


def _stacks(tables: dict[str, dict[str, Any]], brought: dict[str, Stack]) -> dict[str, Stack]:
    """Variations may build upon the known stacks and upon those before them."""
    own = dict(brought)
    for name, fields in tables.items():
        try:
            own[name] = make_stack(name, fields, {**stacks(), **own})
        except msgspec.ValidationError as error:
            raise InputError(f"stack.{name}: {placed(str(error))}") from None
    return own


def _beside(study: Path, page: str) -> str:
    """A page's path is relative to the study file; other forms stay."""
    beside = study.parent / page
    return str(beside) if beside.exists() else page
