"""A metric of a visit: its name, what it means, and how it is measured."""

from collections.abc import Callable
from statistics import median
from typing import Literal

from msgspec import Struct

from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.visit import Visit

Measure = Callable[[Visit, Network, Stack], float | None]


class Metric(Struct, frozen=True):
    name: str
    """Ends in its unit where it has one; the column in tables."""
    unit: Literal["ms", "byte", "count", "Mbit/s", "share", "ratio"]
    better: Literal["lower", "higher", "neither"]
    meaning: str
    source: str
    """Source of its meaning: a standard, a paper with its section, or what measures it."""
    measure: Measure
    early: bool = False
    """A load may reach it although it never ends; every other time needs the whole page."""
    painted: bool = False
    """Whether it comes with a frame: a paint that is late by a microsecond may be shown 16 ms
    later."""

    @property
    def waits(self) -> bool:
        """Whether it is a time that passes until something happens, and so exceeds the client's
        limit where a load fails before."""
        return self.unit == "ms" and self.better == "lower"


def middle(of: Callable[[Visit], list[float]]) -> Measure:
    """The median of what a visit has many of."""
    return lambda visit, network, stack: median(found) if (found := of(visit)) else None


def alone(of: Callable[[Visit], float | None]) -> Measure:
    """A metric that needs only the visit, and not its network or stack."""
    return lambda visit, network, stack: of(visit)
