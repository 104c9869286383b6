"""Chooses the campaigns that answer the most open claims per hour."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from types import MappingProxyType

from msgspec import Struct

from dragstrip_papers.campaign.pace import Pace
from dragstrip_papers.campaign.space import CELL, reach, space
from dragstrip_papers.claims import published
from dragstrip_papers.overall.campaign import Campaign, Cell
from dragstrip_papers.overall.given import Given
from dragstrip_papers.overall.needs import Power, Powers
from dragstrip_papers.overall.rows import Row
from dragstrip_papers.parts import parts_of

WORTH = 0.05
"""Least rise in a claim's chance of an answer for which the plan names the claim."""
_LEAST_HOURS = 0.01
_SPENT = 2
"""Factor: loads use up the chance of up to this many times as many loads."""


class Step(Struct, frozen=True, kw_only=True):
    """A campaign at its place in the plan."""

    campaign: Campaign
    cells: int
    visits: int
    """Number of visits of the whole campaign."""
    hours: float
    """Hours that the campaign needs beyond what earlier steps made in the same folder."""
    claims: tuple[str, ...]
    """Claims that the campaign makes more likely to be answered."""
    answers: float
    """Expected number of answers from the campaign, beyond those of the steps before."""


Made = dict[str, dict[Cell, int]]
"""Number of blocks of each cell, by folder."""


def already_made(given: Iterable[Given]) -> Made:
    """Return the blocks in folders whose answers are kept: all cells of the claims that were run
    completely."""
    made: Made = {}
    for page in given:
        cells = _cells_of(page.paper)
        there = made.setdefault(page.page, {})
        for told in page.answers:
            mine = cells.get(told.id, frozenset())
            if page.source == "capsule" and told.run == len(mine):
                there.update({cell: max(told.loads, there.get(cell, 0)) for cell in mine})
    return made


def plan(
    rows: Sequence[Row],
    known: Powers,
    pace: Pace,
    left: Iterable[Campaign],
    begun: Mapping[str, Mapping[Cell, int]] = MappingProxyType({}),
) -> list[Step]:
    """Return the campaigns in order. Next is always the campaign with the most expected answers per
    hour.

    A claim's chance of an answer is the mean of its chances in worlds where it is true and where it
    is false. Claims that restate others are not counted. Loads already made cost no time, but their
    chance is used up, because their claims are still open. Half of the simulated loads use up the
    chance of all of them, because claims stay open mostly because pages differ. Fewer loads than a
    claim needs use up no chance.
    """
    claims = {row.id: row for row in rows if row.answer == "open" and not row.restates}
    made: Made = {name: dict(cells) for name, cells in begun.items()}
    all_ = [_Open(campaign, claims, known, pace) for campaign in left]
    open_ = [one for one in all_ if not one.over(made)]
    sure: dict[str, float] = dict.fromkeys(claims, 0.0)
    for one in all_:
        _raise(sure, one.spent(made))
    steps = []
    while open_:
        chosen = max(open_, key=lambda c: (c.gain(sure, made) / c.hours(made), -c.hours(made)))
        open_.remove(chosen)
        chances = chosen.chances(made)
        steps.append(chosen.step(sure, made))
        _raise(sure, chances)
        made[chosen.campaign.name] = chosen.blocks(made)
    return steps


class _Open:
    """A campaign that has no place in the plan yet."""

    def __init__(
        self, campaign: Campaign, claims: Mapping[str, Row], known: Powers, pace: Pace
    ) -> None:
        self.campaign = campaign
        self._costs = campaign.costs(pace)
        self._cells = {
            claim: cells
            for claim, cells in _cells_of(campaign.paper).items()
            if _can(campaign, claims.get(claim))
        }
        self._known = {claim: known.get(claim, {}) for claim in self._cells}

    def blocks(self, made: Made) -> dict[Cell, int]:
        """Return the number of blocks of every cell in the campaign's folder after it has run."""
        there = dict(made.get(self.campaign.name, {}))
        for cell in self._costs:
            there[cell] = max(self.campaign.blocks, there.get(cell, 0))
        return there

    def chances(self, made: Made) -> dict[str, float]:
        """Return how likely the campaign's folder answers each claim after it has run."""
        return self._chances(self._least(self.blocks(made)))

    def spent(self, made: Made) -> dict[str, float]:
        """Return how likely each claim is answered by what the campaign's folder already holds."""
        least = self._least(made.get(self.campaign.name, {}))
        asked = _asked(self.campaign.paper)
        return self._chances({c: _SPENT * n for c, n in least.items() if n >= asked[c]})

    def over(self, made: Made) -> bool:
        """Return whether the campaign's folder already holds all its cells."""
        return self._left_s(made) == 0

    def _least(self, there: Mapping[Cell, int]) -> dict[str, int]:
        """Return, for each claim, the fewest blocks that any of its cells has."""
        return {
            claim: min(there.get(cell, 0) for cell in cells)
            for claim, cells in self._cells.items()
            if cells
        }

    def _chances(self, blocks: Mapping[str, int]) -> dict[str, float]:
        return {claim: _power(self._known[claim], n).mean for claim, n in blocks.items()}

    def gain(self, sure: Mapping[str, float], made: Made) -> float:
        return sum(max(0.0, p - sure[i]) for i, p in self.chances(made).items())

    def hours(self, made: Made) -> float:
        """Return the hours that the campaign still needs."""
        return max(self._left_s(made) / 3600, _LEAST_HOURS)

    def _left_s(self, made: Made) -> float:
        there, blocks = made.get(self.campaign.name, {}), self.campaign.blocks
        return sum(s * max(0, blocks - there.get(cell, 0)) for cell, s in self._costs.items())

    def step(self, sure: Mapping[str, float], made: Made) -> Step:
        cells = self.campaign.cells()
        raised = [i for i, p in self.chances(made).items() if p - sure[i] >= WORTH]
        return Step(
            campaign=self.campaign,
            cells=len(cells),
            visits=int(cells["visited"].sum()) * self.campaign.blocks,
            hours=self.hours(made),
            claims=tuple(sorted(raised)),
            answers=self.gain(sure, made),
        )


def _raise(sure: dict[str, float], chances: Mapping[str, float]) -> None:
    """Raise each certainty to the chance, if the chance is higher."""
    sure.update({claim: max(chance, sure[claim]) for claim, chance in chances.items()})


@cache
def _cells_of(paper: str) -> dict[str, frozenset[Cell]]:
    """Return the cells that each claim of a paper needs."""
    found = published(paper)
    whole = space(found.specs())
    return {
        claim.id: frozenset(reach(claim.predicate, whole).select("study", *CELL).iter_rows())
        for claim in found.claims
        if claim.predicate
    }


@cache
def _asked(paper: str) -> dict[str, int]:
    """Return the number of loads that each claim of a paper needs in every cell."""
    return {
        claim.id: max(part.loads for part in parts_of(claim.predicate))
        for claim in published(paper).claims
        if claim.predicate
    }


def _can(campaign: Campaign, row: Row | None) -> bool:
    """Return whether the claim is open and the campaign's way can answer it."""
    return bool(row and row.needs and campaign.way in row.needs.ways)


def _power(known: Mapping[int, Power], blocks: int) -> Power:
    """Return the power for the largest simulated number of loads that is at most `blocks`."""
    fewer = [loads for loads in known if loads <= blocks]
    return known[max(fewer)] if fewer else Power(0, 0)
