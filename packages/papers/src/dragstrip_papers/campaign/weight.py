"""Finds the size of a paper's page without making the page."""

from pathlib import Path
from random import Random

from dragstrip.pages import corpus
from dragstrip.pages.generators.synth import parse_spec

UNKNOWN_BYTES = 2_000_000
"""Bytes assumed for a recording that has not been opened."""


def weight(page: str) -> tuple[int, int]:
    """Return the bytes and the number of hosts of a page, without making it."""
    if known := corpus.known().get(page):
        return known.size, known.hosts
    if page.startswith("synth:"):
        spec = parse_spec(page.removeprefix("synth:"))
        return sum(spec.sizes(Random(0))), spec.hosts
    path = Path(page)
    return (path.stat().st_size if path.is_file() else UNKNOWN_BYTES), 1
