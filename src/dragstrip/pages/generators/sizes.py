"""Parses numbers and sizes of objects: ``64x10KB``, ``50x400B-8KB``."""

import random

from msgspec import Struct

from dragstrip.model.units import UnitError, parse_size_bytes
from dragstrip.pages.format.recording import PageError

MAX_OBJECTS = 10_000
MAX_TOTAL_BYTES = 1_000_000_000
_SIZE = r"[0-9.]+[a-zA-Z]*"
PATTERN = rf"([0-9]+)x({_SIZE})(?:-({_SIZE}))?"
"""Regular expression whose groups are the arguments of `parse_sizes`."""


class Sizes(Struct, frozen=True, kw_only=True):
    count: int
    low: int
    """Size of the smallest object in bytes."""
    high: int

    def sizes(self, draw: random.Random) -> list[int]:
        """Return one size for each object: evenly spaced on a logarithmic scale, shuffled.

        So a page's weight does not depend on the seed. The papers do not give the distribution of
        sizes between their limits; this distribution is our choice.
        """
        ratio = self.high / self.low if self.low else 1
        sizes = [round(self.low * ratio ** ((i + 0.5) / self.count)) for i in range(self.count)]
        draw.shuffle(sizes)
        return sizes

    def __str__(self) -> str:
        """Return the sizes in words: ``10000 bytes``, ``400 to 8000 bytes``."""
        return f"{self.low}" + (f" to {self.high}" if self.high > self.low else "") + " bytes"


NONE = Sizes(count=0, low=0, high=0)


def parse_sizes(count: str, low: str, high: str | None, *, least: int, what: str) -> Sizes:
    """Parse a range of sizes. Raises `PageError`, whose text continues the name of the page.
    `least` is the minimum size in bytes of an object of the kind `what`."""
    try:
        smallest = parse_size_bytes(low)
        found = Sizes(
            count=int(count), low=smallest, high=parse_size_bytes(high) if high else smallest
        )
    except UnitError as error:
        raise PageError(f": {error}") from None
    if not 1 <= found.count <= MAX_OBJECTS:
        raise PageError(f": give between 1 and {MAX_OBJECTS} objects")
    if found.low < least:
        raise PageError(f": the smallest object, {what}, is {least}B")
    if found.high < found.low:
        raise PageError(": give the smaller size of a range first")
    if found.count * found.high > MAX_TOTAL_BYTES:
        raise PageError(f": give a page of at most {MAX_TOTAL_BYTES // 10**6} MB")
    return found
