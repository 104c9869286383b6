"""Estimates how long a visit takes and how much CPU it needs, and measures both once there are
visits.

The expected time of a visit is the sum of three parts: `OVERHEAD_S`, the transfer time of the
page's bytes, and the time of `ROUNDS` round trips plus those of slow start from 10 segments.

The transfer rate is the line's, or the rate that random loss allows if that is lower: sqrt(3/2) /
sqrt(loss) segments per round trip and connection (Mathis et al., CCR 27(3), 1997). A repeat visit
first loads the page once at the same round trip, without a rate limit. Reruns of invalid blocks are
not included.
"""

from collections.abc import Iterable
from math import inf, log2, sqrt

from dragstrip.model.network import Network
from dragstrip.model.stack import ConnectionMode
from dragstrip.model.study import CellKey, Study
from dragstrip.model.visit import Visit

OVERHEAD_S = 2.0
"""Seconds for preparation, quiet time and collection: 1 to 3 s on small machines."""
ROUNDS = 6
SEGMENT_BYTES = 1448
CPU_S = 0.5
"""CPU seconds of browser and origin per visit, apart from those that grow with the page's size."""
CPU_S_PER_MB = 1.0


def visit_s(size: int, hosts: int, network: Network, connection: ConnectionMode = "first") -> float:
    """Return the expected seconds of a visit to a page of `size` bytes on this many hosts."""
    before_s = _rounds_s(size, hosts, network) if connection != "first" else 0
    return OVERHEAD_S + before_s + load_s(size, hosts, network)


def load_s(size: int, hosts: int, network: Network) -> float:
    """Return the expected seconds from the start of the navigation to the end of the visit. `size`
    is in bytes."""
    carry_s = max(network.down.least_ms(size), size * 0.008 / lossy_mbps(hosts, network)) / 1000
    return carry_s + _rounds_s(size, hosts, network)


def lossy_mbps(hosts: int, network: Network) -> float:
    """Return the total downstream rate in Mbit/s that random loss allows, with one connection per
    host; `inf` without loss or delay.

    The formula holds for senders that treat loss as congestion, so not for BBR.
    """
    if not (network.down.mean_loss and network.rtt_ms):
        return inf
    segments = sqrt(1.5 / network.down.mean_loss) / network.rtt_ms * 1000
    return segments * SEGMENT_BYTES * hosts * 8e-6


def _rounds_s(size: int, hosts: int, network: Network) -> float:
    rounds = ROUNDS + log2(1 + size / hosts / (10 * SEGMENT_BYTES))
    return rounds * network.rtt_ms / 1000


class StudyPace:
    """Time and CPU of a study's visits, by cell. Estimates for a cell without visits are scaled by
    how far the visited cells were from `visit_s` on average."""

    def __init__(self, study: Study, visits: Iterable[Visit] = ()) -> None:
        self._study = study
        self._expected = {cell: self._expect(cell) for cell in study.cells()}
        self._took: dict[CellKey, _Mean] = {}
        self._loaded: dict[CellKey, _Mean] = {}
        self._cpu: dict[str, _Mean] = {}
        self._took_s = self._expected_s = 0.0
        for visit in visits:
            self.learn(visit)

    def learn(self, visit: Visit) -> None:
        if not (visit.host and visit.overhead):
            return
        took = (visit.overhead.prepare_ms + visit.host.wall_ms + visit.overhead.collect_ms) / 1000
        self._took.setdefault(visit.cell, _Mean()).add(took)
        self._loaded.setdefault(visit.cell, _Mean()).add(visit.host.wall_ms / 1000)
        self._took_s += took
        self._expected_s += self._expected.get(visit.cell, took)
        if visit.host.browser_cpu_s is not None:
            spent = visit.host.browser_cpu_s + (visit.host.origin_cpu_s or 0)
            self._cpu.setdefault(visit.page, _Mean()).add(spent)

    @property
    def measured(self) -> int:
        """Cells whose visits were timed."""
        return len(self._took)

    def visit_s(self, cell: CellKey) -> float:
        """Return seconds that one visit to this cell takes, from the end of the previous visit."""
        if cell in self._took:
            return self._took[cell].value
        known = self._took_s / self._expected_s if self._expected_s else 1.0
        return known * self._expected[cell]

    def load_s(self, cell: CellKey) -> float:
        """Return the seconds from the start of a visit's navigation to the visit's end."""
        if cell in self._loaded:
            return self._loaded[cell].value
        return load_s(*self._weight(cell), self._study.network(cell[1]))

    def cpu_s(self, page: str) -> float:
        """Return the CPU seconds that browser and origin spend on a visit."""
        if page in self._cpu:
            return self._cpu[page].value
        return CPU_S + CPU_S_PER_MB * self._study.page(page).body_bytes / 1e6

    def _expect(self, cell: CellKey) -> float:
        return visit_s(*self._weight(cell), self._study.network(cell[1]), cell[2])

    def _weight(self, cell: CellKey) -> tuple[int, int]:
        page = self._study.page(cell[0])
        return page.body_bytes, len(page.hosts)


class _Mean:
    def __init__(self) -> None:
        self._sum, self._n = 0.0, 0

    def add(self, value: float) -> None:
        self._sum, self._n = self._sum + value, self._n + 1

    @property
    def value(self) -> float:
        return self._sum / self._n
