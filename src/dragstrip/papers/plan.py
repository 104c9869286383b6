"""What reproducing a paper would take: cells, visits and an estimate of the time.

A repeat visit is taken for two. Visits are counted one after another, as `schedule.estimate`
expects them; a study's controls are in the time and not among the visits.
"""

from pathlib import Path
from random import Random

from msgspec import Struct

from dragstrip.model.network import Network
from dragstrip.pages import corpus
from dragstrip.pages.synth import parse_spec
from dragstrip.schedule import estimate
from dragstrip.study.controls import controls_of
from dragstrip.study.file import Outline

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
    controls = len(controls_of(outline.stacks)) * outline.runs if outline.controls else 0
    return Part(
        name=outline.name,
        cells=cells,
        visits=cells * visits_each,
        hours=seconds * (visits_each + controls) / 3600,
    )


def visit_s(page: str, network: Network) -> float:
    return estimate.visit_s(*weight(page), network)


def weight(page: str) -> tuple[int, int]:
    """Bytes and hosts of a page, without making it."""
    if known := corpus.known().get(page):
        return known.size, known.hosts
    if page.startswith("synth:"):
        spec = parse_spec(page.removeprefix("synth:"))
        return sum(spec.sizes(Random(0))), spec.hosts
    path = Path(page)
    return (path.stat().st_size if path.is_file() else UNKNOWN_BYTES), 1
