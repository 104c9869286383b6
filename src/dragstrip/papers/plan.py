"""What reproducing a paper would take: cells, visits and an estimate of the time.

A visit is expected to take `OVERHEAD_S`, the page's bytes at the rate that the slowest of these
allows: the line, or random loss, sqrt(3/2) segments per round trip and sqrt(loss) for each
connection (Mathis et al., CCR 27(3), 1997); and `ROUNDS` round trips, plus those in which windows
double from 10 segments on. A repeat visit loads the page twice. Visits are counted one after
another; invalid blocks, which are run again, and page loads that wait for the processor are not
in it.
"""

from math import log2, sqrt
from pathlib import Path
from random import Random

from msgspec import Struct

from dragstrip.model.network import Network
from dragstrip.pages import corpus
from dragstrip.pages.synth import parse_spec
from dragstrip.study.file import Outline

OVERHEAD_S = 2.0
"""Preparing, quiet time and collecting: 1 to 3 s on small machines."""
ROUNDS = 6
SEGMENT_BYTES = 1448
UNKNOWN_BYTES = 2_000_000
"""For a recording that has not been opened."""


class Part(Struct, frozen=True, kw_only=True):
    """One study file."""

    name: str
    cells: int
    """Pages x networks x connection modes."""
    visits: int
    hours: float


def plan(outline: Outline) -> Part:
    cells = len(outline.pages) * len(outline.networks) * len(outline.connections)
    seconds = sum(
        visit_s(page, network) + (connection != "first") * visit_s(page, network)
        for page in outline.pages
        for network in outline.networks
        for connection in outline.connections
    )
    visits_each = len(outline.stacks) * outline.runs
    return Part(
        name=outline.name,
        cells=cells,
        visits=cells * visits_each,
        hours=seconds * visits_each / 3600,
    )


def visit_s(page: str, network: Network) -> float:
    size, hosts = weight(page)
    rtt_s = network.rtt_ms / 1000
    rates = [network.down.rate_mbps * 1e6] if network.down.rate_mbps else []
    if network.down.mean_loss and rtt_s:
        segments = sqrt(1.5 / network.down.mean_loss) / rtt_s
        rates.append(segments * SEGMENT_BYTES * 8 * hosts)
    carry_s = size * 8 / min(rates) if rates else 0.0
    windows = log2(1 + size / hosts / (10 * SEGMENT_BYTES))
    return OVERHEAD_S + carry_s + (ROUNDS + windows) * rtt_s


def weight(page: str) -> tuple[int, int]:
    """Bytes and hosts of a page, without making it."""
    if known := corpus.known().get(page):
        return known.size, known.hosts
    if page.startswith("synth:"):
        spec = parse_spec(page.removeprefix("synth:"))
        return sum(spec.sizes(Random(0))), spec.hosts
    path = Path(page)
    return (path.stat().st_size if path.is_file() else UNKNOWN_BYTES), 1
