"""A study: the stacks it compares, how often, and in which order."""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

from msgspec import Meta, Struct, structs

from dragstrip.model.addresses import Addresses
from dragstrip.model.bridge import Bridge
from dragstrip.model.clock import REAL, Clock
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.thresholds import DEFAULTS, Thresholds

Spending = Literal["O'Brien-Fleming", "Pocock"]


class Client(Struct, frozen=True, kw_only=True):
    """Settings of the browser that are the same in all visits. Each stack names its browser.

    Every visit has a fresh browser context."""

    viewport: tuple[int, int] = (1366, 768)
    device_scale: float = 1.0
    cpu_slowdown: Annotated[float, Meta(ge=1, le=100)] = 1.0
    """How many times slower the client's processor is than this machine's. In virtual time it
    multiplies the clock's prices of computing (`dragstrip.study.devices`)."""
    pin_random: bool = True
    """Math.random and crypto.getRandomValues give the same numbers in every visit, so that random
    choices of a page (experiments, advertisements) are the same for every stack."""
    pin_time: bool = False
    """Scripts see the date of the recording, and the clock runs on from that date."""
    timeout_s: float = 180.0
    """Time limit of a load in s. A load that has not ended by then is censored at this limit."""
    quiet_ms: float = 100.0
    """Quiet time in ms after loadEventEnd that still belongs to the visit."""
    frames: bool = False
    """Record the frames that the browser draws, for visual metrics. This holds for every stack, and
    costs some load time."""
    net_log: bool = False
    """Keep Chromium's NetLog, one file for each browser process."""
    qlog: bool = False
    """Keep the qlog of the origin's connections, one file per visit."""
    pcap: bool = False
    """Keep every packet in full length, with the TLS keys, one file per visit."""
    main_thread: bool = False
    """Keep what the page's main thread did, one file per visit: parsing, style, layout, scripts,
    painting and frames, as Chromium's own trace has them. This holds for every stack, and costs
    some load time."""


class Block(Struct, frozen=True, kw_only=True):
    """A visit of each stack, and of the controls if the block has them, on one page and network."""

    page: str
    network: str
    index: int
    seed: int
    """Seed of the link's random stream, shared by all stacks of the block."""
    order: tuple[str, ...]
    """Stack names, shuffled."""
    connection: ConnectionMode = "first"

    @property
    def id(self) -> str:
        return block_id(self.page, self.network, self.connection, self.index)

    @property
    def cell(self) -> "CellKey":
        return self.page, self.network, self.connection


CellKey = tuple[str, str, ConnectionMode]
"""Page and network by name, and the connection mode."""


def block_id(page: str, network: str, connection: ConnectionMode, index: int) -> str:
    """Return the block's id for records and random draws. The ids of first visits do not name their
    connection mode."""
    mode = [] if connection == "first" else [connection]
    return "|".join([page, network, *mode, str(index)])


def index_of(block: str) -> int:
    """Return the index of the block with this id."""
    return int(block.rpartition("|")[2])


class Stopping(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A rule that tests cells after fixed numbers of blocks (the looks) and stops a cell once it is
    decided, see `dragstrip.stats.sequential`. A study's `runs` are the cap and the last look."""

    looks: tuple[int, ...] = (8, 12, 16, 21, 26)
    """Numbers of blocks, rising. Those at or above the cap are ignored."""
    alpha: float = 0.05
    """Probability of a false alarm, shared by all looks and by all comparisons with the first
    stack."""
    margin: float | None = 0.05
    """Equivalence margin (0.05 is 5 %); None never stops for equivalence."""
    spending: Spending = "Pocock"
    """How alpha is spent: evenly over the looks (Pocock), or hardly any of it early
    (O'Brien-Fleming), while medians of few blocks have no interval."""

    def __post_init__(self) -> None:
        if list(self.looks) != sorted(set(self.looks)) or min(self.looks, default=2) < 2:
            raise ValueError("looks must be rising numbers of blocks, the first at least 2")
        if not 0 < self.alpha < 1:
            raise ValueError("alpha must be a share between 0 and 1")
        if self.margin is not None and self.margin <= 0:
            raise ValueError("margin must be above zero, or left out")

    def until(self, cap: int) -> tuple[int, ...]:
        """Return the looks of a study with `cap` runs."""
        return (*(look for look in self.looks if look < cap), cap)


class Slow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Fewer runs for slow cells: a cell stops after `runs` blocks if the median of all their loads
    is `over_s` seconds or longer."""

    runs: int
    over_s: float = 10.0

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ValueError("runs of slow cells must be at least 1")
        if self.over_s <= 0:
            raise ValueError("over_s must be above zero")


class StudyOptions(Struct, frozen=True, kw_only=True):
    """Options that the study file, the command line and Python can set, and that a study stores
    unchanged. Each is declared only here: docs/howto/add-an-option.md."""

    name: str
    runs: int
    """Blocks per cell: each visits every stack once."""
    seed: int
    """Seed that decides the order of visits and which packets random loss drops."""
    connections: Annotated[tuple[ConnectionMode, ...], Meta(min_length=1)] = ("first",)
    """How each visit finds the browser: cold, or after a first load of the page."""
    think_time: bool = False
    """Answers take as long as the recorded servers took."""
    addresses: Addresses = "recorded"
    """Hosts share addresses and certificates as in the page's recording, as far as it names them,
    or each host has its own (`one-each`)."""
    controls_every: Annotated[int, Meta(ge=1)] = 1
    """Which blocks of a cell include the controls: each Nth block, beginning with the first."""
    warm_ups: Annotated[int, Meta(ge=0)] = 0
    """Visits made and discarded before a stack's first visit that counts."""
    restarts: Annotated[int, Meta(ge=1)] = 1
    """Number of starts of testbed and browsers over which the blocks are spread."""
    stopping: Stopping | None = None
    """Rule that ends a cell once it is decided. Without it every cell has all its runs."""
    slow: Slow | None = None
    """Fewer runs for cells whose loads take long."""
    thresholds: Thresholds = DEFAULTS
    """The verdict's limits."""
    clock: Clock = REAL
    """Real or virtual time."""
    metrics: tuple[str, ...] = ()
    """Metrics to show besides page load time and first byte: `fcp` and others, or an object's
    `start`, `first-byte`, `end` or `took`, like `object:/css/late.css:end`."""


class Study(StudyOptions, frozen=True, kw_only=True, dict=True):
    """A complete study: every name is replaced by its object."""

    pages: tuple[Page, ...]
    networks: tuple[Network, ...]
    stacks: tuple[Stack, ...]
    client: Client = Client()
    reruns: int = 3
    """Number of reruns of an invalid block before dragstrip gives it up."""
    ca: str = ""
    """CA certificate (PEM file) that is trusted as well, for live pages."""
    addresses: Addresses = "one-each"
    """Whether hosts share addresses as recorded. In studies older than this field no hosts did."""
    only: tuple[CellKey, ...] = ()
    """The cells to visit; empty means every combination."""
    sampled: bool = False
    """Whether the cells of `only` were sampled from ranges. They are visited in the order of
    `only`: the first cells, however many, cover the ranges evenly."""
    per_guest: int = 1
    """Blocks that one guest makes in virtual time, one after another, in a sampled study."""
    controls: tuple[Stack, ...] = ()
    """Stacks that blocks visit as well, to test the testbed. They are not compared."""
    bridge: Bridge | None = None
    """The two stacks whose difference is attributed, if the study's other stacks were built for
    that; otherwise None."""

    def cells(self) -> list[CellKey]:
        if self.sampled:
            return list(self.only)
        every = [
            (p.name, n.name, c) for p in self.pages for n in self.networks for c in self.connections
        ]
        wanted = frozenset(self.only)
        return [cell for cell in every if cell in wanted] if wanted else every

    @property
    def visited(self) -> tuple[Stack, ...]:
        """All stacks and controls that blocks visit."""
        return self.stacks + self.controls

    def visited_in(self, index: int) -> tuple[Stack, ...]:
        """Return the stacks and controls that the block with this index visits."""
        return self.stacks if index % self.controls_every else self.visited

    def visits_of(self, block: str) -> int:
        """Return the number of visits in the block with this id."""
        return len(self.visited_in(index_of(block)))

    @property
    def visits_per_block(self) -> float:
        """Mean number of visits per block, over many blocks."""
        return len(self.stacks) + len(self.controls) / self.controls_every

    def blocks(self) -> Iterator[Block]:
        """Yield the blocks, round after round over all cells, so that drift affects all cells
        alike.

        Each block's order and link seed depend only on the study's seed and the block's id, so a
        resumed or extended study keeps its blocks.
        """
        for index in range(self.runs):
            cells = self.cells()
            if not self.sampled:
                random.Random(f"{self.seed}:round:{index}").shuffle(cells)
            for page, network, connection in cells:
                draw = random.Random(f"{self.seed}:{block_id(page, network, connection, index)}")
                order = [s.name for s in self.visited_in(index)]
                draw.shuffle(order)
                yield Block(
                    page=page,
                    network=network,
                    index=index,
                    seed=draw.getrandbits(48),
                    order=tuple(order),
                    connection=connection,
                )

    def part(self, blocks: Sequence[Block]) -> "Study":
        """Return the study with only the pages that these blocks need. A sampled study also keeps
        only their networks."""
        pages, networks = {b.page for b in blocks}, {b.network for b in blocks}
        part = structs.replace(self, pages=tuple(p for p in self.pages if p.name in pages))
        if not self.sampled:
            return part
        return structs.replace(
            part,
            networks=tuple(n for n in self.networks if n.name in networks),
            only=tuple(dict.fromkeys(b.cell for b in blocks)),
        )

    def restart_of(self, block: Block) -> int:
        """Return the number of the restart that makes a block, from 0. Each restart makes equally
        many consecutive runs."""
        return block.index * self.restarts // self.runs

    def looks(self) -> tuple[int, ...]:
        """Return the numbers of blocks after which a cell may stop; the last is `runs`."""
        early = self.stopping.until(self.runs) if self.stopping else ()
        slow = (self.slow.runs,) if self.slow and self.slow.runs < self.runs else ()
        return tuple(sorted({*early, *slow, self.runs}))

    @property
    def predicted(self) -> bool:
        """Whether the load generator makes the study's visits. Its times are predictions."""
        return any(s.loaded_by.follows_graphs for s in self.stacks)

    def page(self, name: str) -> Page:
        return self._pages[name]

    def network(self, name: str) -> Network:
        return self._networks[name]

    def stack(self, name: str) -> Stack:
        return next(s for s in self.visited if s.name == name)

    @cached_property
    def _pages(self) -> Mapping[str, Page]:
        return {page.name: page for page in self.pages}

    @cached_property
    def _networks(self) -> Mapping[str, Network]:
        return {network.name: network for network in self.networks}
