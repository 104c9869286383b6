"""Finds the needs of an open claim: where to run it, which cells, and how many blocks."""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import msgspec
import polars as pl
from msgspec import Struct

from dragstrip.pages import corpus
from dragstrip_papers.answers.noise import noiseless
from dragstrip_papers.answers.predicted import beyond
from dragstrip_papers.campaign.pace import pace
from dragstrip_papers.campaign.space import unhindered
from dragstrip_papers.claims import Claim, Published
from dragstrip_papers.deciding import has_size
from dragstrip_papers.overall.given import IN_VIRTUAL_TIME, Way
from dragstrip_papers.predicates import stacks_of

ENOUGH = 0.8
"""Least share of right answers, in true worlds and in false ones, that makes a run of a claim
worthwhile."""
CONTROLS = 2
"""Controls that a study visits in each block beside its stacks."""
LARGE = 100
"""Number of cells above which the load generator is the cheapest way to answer a claim."""


class Power(Struct, frozen=True):
    """Share of made-up worlds that are answered correctly. Of both kinds of loads, the smaller
    share counts (docs/reference/claims-power.md)."""

    true: float
    false: float

    @property
    def worse(self) -> float:
        return min(self.true, self.false)

    @property
    def mean(self) -> float:
        return (self.true + self.false) / 2


Powers = Mapping[str, Mapping[int, Power]]
"""Power by claim and number of loads."""


class _World(Struct):
    claim: str
    loads: int
    world: str
    right: float


class Needs(Struct, frozen=True, kw_only=True):
    ways: tuple[Way, ...]
    """How the claim's visits can be made, the best way first."""
    cells: int
    blocks: int
    power: Power | None
    """Power with this number of blocks; None for claims that no number of loads decides."""
    pages: tuple[str, ...] = ()
    """Pages of the claim that are stand-ins, if their made-up size may leave it untestable."""
    hours: dict[Way, float] = {}
    """Hours that these blocks of the claim's own stacks take, by way, without controls."""

    def price(self, blocks: int = 0) -> str:
        """Say what it costs: ``24 min in virtual time, 2.1 h in real time``. `blocks` replaces the
        number of blocks, if more of them are needed."""
        times = blocks / self.blocks if blocks and self.blocks else 1.0
        told = {_CLOCKS[way]: hours * times for way, hours in self.hours.items()}
        return ", ".join(f"{_spent(hours)} {where}" for where, hours in told.items())

    @property
    def least_hours(self) -> float:
        return min(self.hours.values(), default=0.0)

    def words(self) -> str:
        """Say the needs in words: ``24 cells x 5 blocks (virtual or browser)``."""
        if not self.cells:
            return "the published captures"
        said = f"{self.cells} {'cell' if self.cells == 1 else 'cells'} x {self.blocks} blocks"
        where = " or ".join(_WHERE[way] for way in self.ways)
        return f"{said}, {where}{self._chance()}{self._recording()}"

    def _chance(self) -> str:
        if not self.power or self.power.worse >= ENOUGH:
            return ""
        true, false = (round(100 * p) for p in (self.power.true, self.power.false))
        return f"; that answers {true} % of worlds in which it is true, {false} % of false ones"

    def _recording(self) -> str:
        """Say that recordings would help, if the claim is about one or two pages. A claim about
        many pages does not depend on the size of a stand-in."""
        few = 0 < len(self.pages) <= 2
        return (
            f"; a recording of {' and '.join(map(corpus.label, self.pages))} would tell more"
            if few
            else ""
        )


_WHERE: Mapping[Way, str] = {
    "native": "its own protocols",
    "browser": "browser",
    "virtual": "browser in virtual time",
    "loader": "load generator",
}


def _spent(hours: float) -> str:
    return f"{hours:.1f} h" if hours >= 1 else f"{max(60 * hours, 1):.0f} min"


_CLOCKS: Mapping[Way, str] = {
    "native": "in real time",
    "browser": "in real time",
    "virtual": "in virtual time",
    "loader": "by the load generator",
}


def powers(file: Path) -> Powers:
    """Read docs/reference/claims-power.json."""
    found: dict[str, dict[int, dict[str, float]]] = defaultdict(lambda: defaultdict(dict))
    for row in msgspec.json.decode(file.read_bytes(), type=list[_World]):
        state = row.world.split()[0]
        if state in ("true", "false") and "alone" not in row.world:
            tried = found[row.claim][row.loads]
            tried[state] = min(tried.get(state, 1.0), row.right)
    return {
        claim: {
            loads: Power(tried.get("true", 1.0), tried.get("false", 1.0))
            for loads, tried in by_loads.items()
        }
        for claim, by_loads in found.items()
    }


def needs(
    claim: Claim, paper: Published, reached: pl.DataFrame, known: Mapping[int, Power]
) -> Needs | None:
    """Return the needs of a claim; None without a predicate. `reached` are the cells that the claim
    is about."""
    if claim.predicate is None:
        return None
    blocks, able = least(known), ways(claim, paper, reached)
    every = reached["stacks"].explode().unique().to_list()
    visited = max(len(stacks_of(claim.predicate, every)), 2)
    standins = reached.filter(pl.col("standin") & has_size(claim.predicate))["page"]
    return Needs(
        ways=able,
        cells=len(reached),
        blocks=blocks,
        power=known.get(blocks),
        pages=tuple(standins.unique(maintain_order=True).to_list()),
        hours={way: hours(reached, way, visited, blocks) for way in able},
    )


def hours(cells: pl.DataFrame, way: Way, stacks: int, blocks: int) -> float:
    """Return the hours of a machine that `blocks` blocks of these cells take, with `stacks` stacks
    and no controls."""
    if way in IN_VIRTUAL_TIME:
        visit = pace().visit_s(loader=way == "loader") / pace().cores
    else:
        both = pl.col("stacks").list.len() + CONTROLS
        visit = pl.col("block_s") / both / pace().real_at_once
    return float(cells.select(visit.sum()).item()) * stacks * blocks / 3600


def least(known: Mapping[int, Power]) -> int:
    """Return the fewest simulated loads with enough power. If none has, return the most loads that
    were simulated."""
    enough = [loads for loads, power in known.items() if power.worse >= ENOUGH]
    return min(enough) if enough else max(known, default=0)


def ways(claim: Claim, paper: Published, reached: pl.DataFrame) -> tuple[Way, ...]:
    """Return the ways in which a claim can be answered, the best first.

    A claim about implementations of its time is answered natively. A claim about painting, or about
    delays that only computing causes, is answered in real time. A claim about effects of the
    network is answered in virtual time.
    """
    assert claim.predicate
    named = stacks_of(claim.predicate, paper.paper.stands_for)
    played = bool(named) and set(named) <= paper.paper.native.keys()
    own: tuple[Way, ...] = ("native",) if played else ()
    if len(unhindered(reached)):  # in these cells a load takes no virtual time at all
        return (*own, "browser") if claim.tier == "historic" else ("browser", *own)
    if claim.tier == "historic" and played:
        return "native", "browser", "virtual"
    if noiseless(claim.predicate, reached):
        return "browser", *own
    if b'"visual_' in msgspec.json.encode(claim.predicate):
        return "browser", "virtual"
    predictable = len(reached) > LARGE and not beyond(paper.paper, claim.predicate, reached)
    wide: tuple[Way, ...] = ("loader",) if predictable else ()
    return (*wide, "virtual", "browser", *own)
