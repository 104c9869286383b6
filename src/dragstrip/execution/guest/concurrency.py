"""Lets any blocks run in parallel in guests, up to the requested number.

Other processes do not affect a guest's clock, so neither network nor CPU sets a limit. More guests
than cores only wait for each other.
"""

import time
from collections.abc import Mapping, Sequence

from dragstrip.execution.concurrency import FirstWorkers
from dragstrip.model.network import Network
from dragstrip.model.study import Block, CellKey, Study
from dragstrip.model.visit import Visit
from dragstrip.schedule.estimate import load_s

_START_S = 5.0
"""Real seconds per visit that do not depend on the page. The visit's share of the guest's start is
included."""
_LOAD_SHARE = 0.3
"""Real seconds per virtual second of a load. Much of a load is idle."""
_S_PER_MB = 4.0
"""Additional real seconds per megabyte of a page, mostly for packets."""


class GuestConcurrency:
    """Allows `jobs` blocks in parallel. See `dragstrip.execution.concurrency.Concurrency`."""

    stagger_s = 0.0

    def __init__(self, study: Study, jobs: int = 1) -> None:
        self.jobs = jobs
        self._study = study
        self._began = time.monotonic()
        self._expected_s = 0.0
        self._cells: set[CellKey] = set()

    @property
    def pace(self) -> "GuestConcurrency":
        return self

    @property
    def measured(self) -> int:
        """Cells whose visits were timed."""
        return len(self._cells)

    def visit_s(self, cell: CellKey) -> float:
        """Real seconds that one visit to this cell takes, from the end of the previous visit."""
        took_s = (time.monotonic() - self._began) * self.jobs
        known = took_s / self._expected_s if self._expected_s else 1.0
        return known * self._expect(cell)

    def allows(self, block: Block, running: Sequence[Block]) -> bool:
        return len(running) < self.jobs

    def learn(self, visit: Visit) -> None:
        self._cells.add(visit.cell)
        self._expected_s += self._expect(visit.cell)

    def first_workers(self, left: Mapping[CellKey, int]) -> FirstWorkers:
        return FirstWorkers(0, ())

    def at_once(self, cell: CellKey) -> float:
        return float(self.jobs)

    def seconds(self, visits: Mapping[CellKey, int]) -> float:
        """Return how many real seconds this many visits on each cell take."""
        return sum(n * self.visit_s(cell) / self.jobs for cell, n in visits.items() if n)

    def _expect(self, cell: CellKey) -> float:
        page = self._study.page(cell[0])
        network: Network = self._study.network(cell[1])
        virtual_s = load_s(page.body_bytes, len(page.hosts), network)
        return _START_S + _LOAD_SHARE * virtual_s + _S_PER_MB * page.body_bytes / 1e6
