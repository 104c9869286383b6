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
    """Name of the metric's column in tables. The name ends with the unit if there is one."""
    unit: Literal["ms", "byte", "count", "Mbit/s", "share", "ratio"]
    better: Literal["lower", "higher", "neither"]
    meaning: str
    source: str
    """Source of the metric's definition: a standard, a paper with its section, or the program that
    measures it."""
    measure: Measure
    early: bool = False
    """Whether a load may reach the metric's event although the load never ends. Every other time
    needs a complete load."""
    painted: bool = False
    """Whether the metric is the time of a frame. A paint that is late by a microsecond may then be
    shown 16 ms later."""

    spent: bool = False
    """Whether the metric adds up time spent, and is not the time until an event."""

    @property
    def waits(self) -> bool:
        """Whether the metric is the time until an event. If a load fails before the event, the
        value exceeds the client's time limit."""
        return self.unit == "ms" and self.better == "lower" and not self.spent


def middle(of: Callable[[Visit], list[float]]) -> Measure:
    """Make a measure that takes the median of several values of a visit."""
    return lambda visit, network, stack: median(found) if (found := of(visit)) else None


def alone(of: Callable[[Visit], float | None]) -> Measure:
    """Make a measure that needs only the visit, not its network or stack."""
    return lambda visit, network, stack: of(visit)
