"""Which blocks may run at once in testbeds of their own.

A block on a slow link hardly needs the processor, so several may run beside each other; a block on
a fast link runs alone. A line is as slow as random loss makes it, whatever its rate. The limits are
those at which load times and paints of several testbeds were measured to be those of a single one;
bench/jobs.py measures it anew.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple, Protocol

from dragstrip.model.errors import InputError
from dragstrip.model.study import Block, CellKey, Study
from dragstrip.model.visit import Visit
from dragstrip.schedule.estimate import Pace, lossy_mbps

MOST_JOBS = 4
"""What `auto` stands for: with more, paint metrics are no longer those of a single testbed."""
SLOW_MBPS = 2.0
"""What comes down in a second, up to which a block may have others beside it."""
RATE_MBPS_PER_CORE = 4.0
"""The same of all blocks that run at once, together."""
CPU_SHARE = 0.27
"""Of all cores, for browsers and origins together; links and ourselves take a few percent more."""
SHORT_S = 2.0
"""Of a load: what is shorter is mostly work, and disturbed by more than one other."""
SHORT_JOBS = 2
STAGGER_S = 1.5
"""Between the starts of two blocks: testbeds that start together stay in phase."""
RECENT_VISITS = 30
"""In company (or alone where no more are allowed), by which the number of jobs is judged."""
TOLERATED = 2
"""So many of them may be `overloaded`, and the number rises by one; it falls with the next. A block
that is made again costs less than a testbed that stands still."""


def parse_jobs(text: str, auto: int = MOST_JOBS) -> int:
    """A number, or what ``auto`` stands for. Raises `InputError`."""
    if text == "auto":
        return auto
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"--jobs {text!r}: give a number of testbeds from 1 on, or auto")
    return int(text)


class Company(NamedTuple):
    """What is opened before the first visit: testbeds that open or rehearse disturb others."""

    workers: int
    """None where nothing runs beside anything else: one is opened when it is needed."""
    pages: tuple[str, ...]
    """Those that are visited while others are; each worker has to know them."""


class Pacing(Protocol):
    """How long visits take, by what is known so far."""

    @property
    def measured(self) -> int:
        """Cells whose visits were timed."""

    def visit_s(self, cell: CellKey) -> float:
        """Seconds from the end of the visit before to its own end."""


class Admits(Protocol):
    """Says which blocks may run at once, and how long that takes."""

    jobs: int
    stagger_s: float
    """Between the starts of two blocks."""

    @property
    def pace(self) -> Pacing: ...
    def admits(self, block: Block, running: Sequence[Block]) -> bool: ...
    def learn(self, visit: Visit) -> None:
        """Takes note of a visit that was just made."""

    def company(self, left: Mapping[CellKey, int]) -> Company: ...
    def at_once(self, cell: CellKey) -> float:
        """How many blocks like this one may run beside each other, on average."""

    def seconds(self, visits: Mapping[CellKey, int]) -> float:
        """How long so many visits on each cell are going to take."""


class Admission:
    """Lets a block start beside others while number, rate and processor allow.

    Where too many visits met an overloaded host while others ran beside them, the number falls to
    those others'. After calmer ones it rises again, one by one, up to `jobs`.
    """

    def __init__(
        self,
        study: Study,
        jobs: int = 1,
        visits: Iterable[Visit] = (),
        *,
        cores: int | None = None,
        stagger_s: float = STAGGER_S,
    ) -> None:
        self.jobs = jobs
        self.stagger_s = stagger_s
        self._long, self._short = _Limit(jobs), _Limit(min(jobs, SHORT_JOBS))
        self.pace = Pace(study, visits)
        self._study = study
        self._cores = cores or os.cpu_count() or 1
        self._minds_loss = all(stack.congestion != "bbr" for stack in study.visited)

    def admits(self, block: Block, running: Sequence[Block]) -> bool:
        if not running:
            return True
        cells = [b.cell for b in (*running, block)]
        return (
            len(cells) <= min(self._limit(cell).allowed for cell in cells)
            and all(self._rate_mbps(cell) <= SLOW_MBPS for cell in cells)
            and sum(map(self._rate_mbps, cells)) <= RATE_MBPS_PER_CORE * self._cores
            and sum(map(self._cpu_share, cells)) <= CPU_SHARE
        )

    def learn(self, visit: Visit) -> None:
        """What a visit that was just made says about the host."""
        self.pace.learn(visit)
        if visit.host and visit.host.steal_share > self._study.thresholds.steal_share:
            return  # somebody else's doing, whatever runs here
        overloaded = any(r.code == "overloaded" for r in visit.reasons)
        self._limit(visit.cell).learn(visit.beside, overloaded)

    def company(self, left: Mapping[CellKey, int]) -> Company:
        """For so many visits that are left on each cell."""
        slow = [cell for cell, n in left.items() if n and self._rate_mbps(cell) <= SLOW_MBPS]
        blocks = sum(left[cell] for cell in slow) // len(self._study.visited)
        if min(self.jobs, blocks) < 2:
            return Company(0, ())
        return Company(min(self.jobs, blocks), tuple(dict.fromkeys(cell[0] for cell in slow)))

    def at_once(self, cell: CellKey) -> float:
        """How many blocks like this one may run beside each other, on average."""
        rate = self._rate_mbps(cell)
        if rate > SLOW_MBPS:
            return 1.0
        by_rate = RATE_MBPS_PER_CORE * self._cores / rate
        return max(1.0, min(self._limit(cell).most, by_rate, CPU_SHARE / self._cpu_share(cell)))

    def seconds(self, visits: Mapping[CellKey, int]) -> float:
        """How long so many visits on each cell are going to take."""
        return sum(n * self.pace.visit_s(c) / self.at_once(c) for c, n in visits.items() if n)

    def _limit(self, cell: CellKey) -> "_Limit":
        return self._short if self.pace.load_s(cell) < SHORT_S else self._long

    def _rate_mbps(self, cell: CellKey) -> float:
        network = self._study.network(cell[1])
        down = network.down
        line = down.trace.mean_mbps if down.trace else down.rate_mbps or inf
        if not self._minds_loss:
            return line
        return min(line, lossy_mbps(len(self._study.page(cell[0]).hosts), network))

    def _cpu_share(self, cell: CellKey) -> float:
        return self.pace.cpu_s(cell[0]) / self.pace.visit_s(cell) / self._cores


class _Limit:
    """How many blocks of one kind may run at once, by what became of their visits."""

    def __init__(self, most: int) -> None:
        self.most = self.allowed = most
        self._recent: list[bool] = []
        """Of visits in company, since the number last changed: overloaded or not."""

    def learn(self, beside: int, overloaded: bool) -> None:
        if not beside and self.allowed > 1:
            return
        self._recent.append(overloaded and beside > 0)
        if overloaded and beside and sum(self._recent) > TOLERATED:
            self._recent, self.allowed = [], min(self.allowed, beside)
        elif len(self._recent) == RECENT_VISITS:
            self._recent, self.allowed = [], min(self.most, self.allowed + 1)
