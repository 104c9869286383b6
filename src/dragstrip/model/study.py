"""A study: what is compared, how often, in which order."""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Literal

from msgspec import Struct, structs

from dragstrip.model.bridge import Bridge
from dragstrip.model.clock import REAL, Clock
from dragstrip.model.network import Network
from dragstrip.model.page import Page
from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.thresholds import Thresholds

Spending = Literal["O'Brien-Fleming", "Pocock"]


class Client(Struct, frozen=True, kw_only=True):
    """Everything about the browser that is held fixed; which one it is, says each stack.

    Every visit has a fresh context."""

    viewport: tuple[int, int] = (1366, 768)
    device_scale: float = 1.0
    pin_random: bool = True
    """Math.random and crypto.getRandomValues give the same numbers in every visit, so that a page
    which draws lots (for an experiment, an advertisement) draws the same for every stack."""
    pin_time: bool = False
    """Scripts find the date at which the page was recorded; the clock runs on from there."""
    timeout_s: float = 180.0
    """A load that has not fired its load event by then is censored at this limit."""
    quiet_ms: float = 100.0
    """Quiet time after loadEventEnd that still belongs to the visit."""
    frames: bool = False
    """Look at what the browser draws, for visual metrics: the same in every stack, at some cost."""
    net_log: bool = False
    """Keep Chromium's NetLog, one file for each browser process."""
    qlog: bool = False
    """Keep the qlog of the origin's connections, one file per visit."""
    pcap: bool = False
    """Keep every packet whole, with the TLS keys, one file per visit."""


class Block(Struct, frozen=True, kw_only=True):
    """One visit of every stack on one page and network, in shuffled order."""

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
    """What names a block in records and random draws; first visits need no word for it."""
    mode = [] if connection == "first" else [connection]
    return "|".join([page, network, *mode, str(index)])


class Stopping(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Cells are looked at after fixed numbers of blocks and stopped once they are decided, by
    `dragstrip.stats.sequential`; a study's `runs` are the cap and the last look."""

    looks: tuple[int, ...] = (8, 12, 16, 21, 26)
    """Numbers of blocks, rising; those not below the cap are left out."""
    alpha: float = 0.05
    """Shared by all looks, and by all stacks that are compared with the first."""
    margin: float | None = 0.05
    """Equivalence margin (0.05 is 5 %); None never stops for equivalence."""
    spending: Spending = "Pocock"
    """How alpha is spent: about as much at each look, or hardly any of it early (O'Brien-Fleming),
    when a median of few blocks has no interval."""

    def __post_init__(self) -> None:
        if list(self.looks) != sorted(set(self.looks)) or min(self.looks, default=2) < 2:
            raise ValueError("looks are rising numbers of blocks, the first at least 2")
        if not 0 < self.alpha < 1:
            raise ValueError("alpha is a share between 0 and 1")
        if self.margin is not None and self.margin <= 0:
            raise ValueError("margin is above zero, or left out")

    def until(self, cap: int) -> tuple[int, ...]:
        """The looks of a study of so many runs."""
        return (*(look for look in self.looks if look < cap), cap)


class Slow(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Cells that take long get fewer runs: those whose loads last `over_s` seconds or longer, in
    the median of all loads of their first `runs` blocks, end with these."""

    runs: int
    over_s: float = 10.0

    def __post_init__(self) -> None:
        if self.runs < 1:
            raise ValueError("runs of slow cells are at least 1")
        if self.over_s <= 0:
            raise ValueError("over_s is above zero")


class Study(Struct, frozen=True, kw_only=True, dict=True):
    """Resolved and complete: every name has become the object it stands for."""

    name: str
    pages: tuple[Page, ...]
    networks: tuple[Network, ...]
    stacks: tuple[Stack, ...]
    connections: tuple[ConnectionMode, ...] = ("first",)
    runs: int
    seed: int
    client: Client = Client()
    reruns: int = 3
    """How often an invalid block is rerun before it is given up."""
    ca: str = ""
    """Certificate (PEM file) of a further authority to trust, for live pages."""
    think_time: bool = False
    """The origin takes as long for each answer as the recorded server did."""
    only: tuple[CellKey, ...] = ()
    """The cells to visit; empty means every combination."""
    sampled: bool = False
    """The cells of `only` were drawn from ranges, and are visited in that order: any first part of
    them covers the ranges evenly."""
    per_guest: int = 1
    """Blocks that one guest makes in virtual time, one after another."""
    controls: tuple[Stack, ...] = ()
    """Stacks that every block visits besides, to judge the testbed by and not to be compared."""
    warm_ups: int = 0
    """Visits that a testbed makes and discards before its first visit of a stack on a cell, beyond
    the rehearsal of each page."""
    stopping: Stopping | None = None
    """None makes all `runs` on every cell."""
    slow: Slow | None = None
    """None makes as many runs on cells that take long as on others."""
    restarts: int = 1
    """Testbeds, with their servers and browsers, that its runs are spread over, one after another:
    what differs from start to start is then seen (`dragstrip.results.compare.restarts`)."""
    thresholds: Thresholds = Thresholds()
    """From where on its visits are no longer believed."""
    clock: Clock = REAL
    """What times the visits."""
    bridge: Bridge | None = None
    """What the stacks stand between, if they were made to attribute a difference."""

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
        """What a block visits: stacks and controls."""
        return self.stacks + self.controls

    def blocks(self) -> Iterator[Block]:
        """The schedule: round after round over all cells, so drift hits every cell alike.

        Each block's order and link seed depend only on the study's seed and the block's own id:
        a resumed or extended study keeps the blocks it already has.
        """
        for index in range(self.runs):
            cells = self.cells()
            if not self.sampled:
                random.Random(f"{self.seed}:round:{index}").shuffle(cells)
            for page, network, connection in cells:
                draw = random.Random(f"{self.seed}:{block_id(page, network, connection, index)}")
                order = [s.name for s in self.visited]
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
        """Of a sampled study what these blocks need; any other stays whole."""
        if not self.sampled:
            return self
        pages, networks = {b.page for b in blocks}, {b.network for b in blocks}
        return structs.replace(
            self,
            pages=tuple(p for p in self.pages if p.name in pages),
            networks=tuple(n for n in self.networks if n.name in networks),
            only=tuple(dict.fromkeys(b.cell for b in blocks)),
        )

    def restart_of(self, block: Block) -> int:
        """Which of the restarts makes a block, from 0: runs in a row, as many in each."""
        return block.index * self.restarts // self.runs

    def looks(self) -> tuple[int, ...]:
        """The numbers of blocks after which a cell may end, the last of them `runs`."""
        early = self.stopping.until(self.runs) if self.stopping else ()
        slow = (self.slow.runs,) if self.slow and self.slow.runs < self.runs else ()
        return tuple(sorted({*early, *slow, self.runs}))

    @property
    def predicted(self) -> bool:
        """Its visits are the load generator's: predictions of a browser's."""
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
