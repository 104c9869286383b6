"""Checks the total loss over all visits of a network.

A visit with a thousand packets cannot distinguish 1 % loss from 2 %, but a study can.
"""

from collections.abc import Iterable, Iterator

from dragstrip.model.effects import Side
from dragstrip.model.network import Network
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import Reason, Visit
from dragstrip.verdict.link_checks import luck, unlikely_loss

_SIDES: tuple[Side, Side] = ("down", "up")


class Losses:
    """Checks the total loss over all visits of a network, in each direction.

    Visits with the same seed lose the same packets, so only the visit with the most packets counts
    for each seed. The remaining visits are independent trials. Ending a visit when its page is
    loaded does not bias the sum, because a visit cannot foresee its next packet (optional
    stopping). Visits whose own link drifted are already left out.
    """

    def __init__(self) -> None:
        self._longest: dict[tuple[str, Side], dict[int, tuple[int, int]]] = {}
        """The most trials of a visit, and the losses among them (see `luck`). The keys are network
        and direction, then the seed."""

    def add(self, visit: Visit, reasons: Iterable[Reason]) -> None:
        """Add a visit's losses, unless `reasons`, the reasons against the visit so far, exclude
        it."""
        if visit.link is None or any(r.code == "link-drift" for r in reasons):
            return
        for side in _SIDES:
            got = visit.link.direction(side)
            by_seed = self._longest.setdefault((visit.network, side), {})
            lost, tried = luck(side, got)
            by_seed[visit.seed] = max(by_seed.get(visit.seed, (0, 0)), (tried, lost))

    def sums(self, network: str, side: Side) -> tuple[int, int]:
        """Return the number of independent trials, and the number of losses among them."""
        found = self._longest.get((network, side), {}).values()
        return sum(tried for tried, _ in found), sum(lost for _, lost in found)

    def reasons(self, network: Network, limits: Thresholds) -> Iterator[Reason]:
        for side in _SIDES:
            tried, lost = self.sums(network.name, side)
            for detail in unlikely_loss(network.direction(side), lost, tried, limits):
                yield Reason("link-drift", f"{side}, over all visits of {network.name}: {detail}")
