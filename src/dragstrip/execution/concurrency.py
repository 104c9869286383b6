"""Decides which blocks may run in parallel, each in its own testbed.

A block on a slow link needs little CPU, so several may run in parallel; a block on a fast link runs
alone. Random loss can make a link slower than its rate. Within these limits, load and paint times
in parallel testbeds matched those of a single testbed; bench/visits/jobs.py repeats the
measurement.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple, Protocol

from dragstrip.model.clock import Clock
from dragstrip.model.errors import InputError
from dragstrip.model.study import Block, CellKey, Study
from dragstrip.model.visit import Visit
from dragstrip.schedule.estimate import StudyPace, lossy_mbps

MOST_JOBS = 4
"""Parallel blocks under `auto`. With more, paint metrics differ from those of a single testbed."""
SLOW_MBPS = 2.0
"""Downstream rate up to which a block may run beside others."""
RATE_MBPS_PER_CORE = 4.0
"""Greatest sum of the downstream rates of all parallel blocks, per core."""
CPU_SHARE = 0.27
"""Share of all cores for browsers and origins together; links and dragstrip take a few percent
more."""
SHORT_S = 2.0
"""Load time in seconds. Shorter loads are mostly CPU work, and more than one other block disturbs
them."""
SHORT_JOBS = 2
STAGGER_S = 1.5
"""Seconds between the starts of two blocks: testbeds that start together stay in phase."""
RECENT_VISITS = 30
"""Visits after which the limit on parallel blocks is reviewed. Visits that run alone count only if
the limit is one."""
TOLERATED = 2
"""Most `overloaded` visits among `RECENT_VISITS` at which the limit rises by one; with more it
falls. Repeating a block costs less than an idle testbed."""


def most_jobs(clock: Clock) -> int:
    """Return the most parallel blocks on this machine: the meaning of `--jobs auto`."""
    return len(os.sched_getaffinity(0)) if clock.virtual else MOST_JOBS


def parse_jobs(text: str, auto: int = MOST_JOBS) -> int:
    """Return the number of jobs in `text`; ``auto`` means `auto`. Raises `InputError`."""
    if text == "auto":
        return auto
    if not text.isdecimal() or int(text) < 1:
        raise InputError(f"--jobs {text!r}: give a number of testbeds from 1 on, or auto")
    return int(text)


class FirstWorkers(NamedTuple):
    """Workers to open before the first visit, because opening and rehearsing disturb other
    visits."""

    workers: int
    """Number of workers. 0 if nothing runs in parallel: then a worker is opened when needed."""
    pages: tuple[str, ...]
    """Pages to rehearse in each worker: those of blocks that run in parallel."""


class Pacing(Protocol):
    """Estimates how long visits take, from the visits so far."""

    @property
    def measured(self) -> int:
        """Cells whose visits were timed."""

    def visit_s(self, cell: CellKey) -> float:
        """Return seconds that one visit to this cell takes, from the end of the previous visit."""


class Concurrency(Protocol):
    """Decides which blocks may run in parallel, and estimates how long a study's visits take."""

    jobs: int
    stagger_s: float
    """Time between the starts of two blocks."""

    @property
    def pace(self) -> Pacing: ...
    def allows(self, block: Block, running: Sequence[Block]) -> bool: ...
    def learn(self, visit: Visit) -> None:
        """Record a new visit."""

    def first_workers(self, left: Mapping[CellKey, int]) -> FirstWorkers: ...
    def at_once(self, cell: CellKey) -> float:
        """Return how many blocks of this cell may run in parallel, on average."""

    def seconds(self, visits: Mapping[CellKey, int]) -> float:
        """Return how many seconds this many visits on each cell take."""


class RealTimeConcurrency:
    """Lets a block run beside others while their number, rates and CPU shares stay within limits.

    If too many parallel visits were overloaded, the limit falls to the number of blocks that ran in
    parallel then. After calmer visits it rises again, one at a time, up to `jobs`.
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
        self.pace = StudyPace(study, visits)
        self._study = study
        self._cores = cores or os.cpu_count() or 1
        self._minds_loss = all(stack.congestion not in ("bbr", "bbr3") for stack in study.visited)

    def allows(self, block: Block, running: Sequence[Block]) -> bool:
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
        """Learn from a new visit how long visits take and whether the host was overloaded."""
        self.pace.learn(visit)
        if visit.host and visit.host.steal_share > self._study.thresholds.steal_share:
            return  # caused by other processes, not by what runs here
        overloaded = any(r.code == "overloaded" for r in visit.reasons)
        self._limit(visit.cell).learn(visit.beside, overloaded)

    def first_workers(self, left: Mapping[CellKey, int]) -> FirstWorkers:
        """Return which workers to open before the first visit, given the number of visits left on
        each cell."""
        slow = [cell for cell, n in left.items() if n and self._rate_mbps(cell) <= SLOW_MBPS]
        blocks = int(sum(left[cell] for cell in slow) / self._study.visits_per_block)
        if min(self.jobs, blocks) < 2:
            return FirstWorkers(0, ())
        return FirstWorkers(min(self.jobs, blocks), tuple(dict.fromkeys(cell[0] for cell in slow)))

    def at_once(self, cell: CellKey) -> float:
        """Return how many blocks of this cell may run in parallel, on average."""
        rate = self._rate_mbps(cell)
        if rate > SLOW_MBPS:
            return 1.0
        by_rate = RATE_MBPS_PER_CORE * self._cores / rate
        return max(1.0, min(self._limit(cell).most, by_rate, CPU_SHARE / self._cpu_share(cell)))

    def seconds(self, visits: Mapping[CellKey, int]) -> float:
        """Return how many seconds this many visits on each cell take."""
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
    """How many blocks of one kind may run in parallel, learned from the results of their visits."""

    def __init__(self, most: int) -> None:
        self.most = self.allowed = most
        self._recent: list[bool] = []
        """Whether each parallel visit since the last change of `allowed` was overloaded."""

    def learn(self, beside: int, overloaded: bool) -> None:
        if not beside and self.allowed > 1:
            return
        self._recent.append(overloaded and beside > 0)
        if overloaded and beside and sum(self._recent) > TOLERATED:
            self._recent, self.allowed = [], min(self.allowed, beside)
        elif len(self._recent) == RECENT_VISITS:
            self._recent, self.allowed = [], min(self.most, self.allowed + 1)
