"""Checks the total loss over all visits of a network.

A visit with a thousand packets cannot distinguish 1 % loss from 2 %, but a study can.
"""

from collections.abc import Iterable, Iterator

from dragstrip.model.effects import Side
from dragstrip.model.network import Network
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import LinkReport, PhaseReport, Reason, Visit
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
        self._longest: dict[tuple[str, Side, int], dict[int, tuple[int, int]]] = {}
        """The most trials of a visit and the losses among them, by network, direction and phase of
        the link, and by seed; see `luck`."""

    def add(self, visit: Visit, reasons: Iterable[Reason]) -> None:
        """Add a visit's losses, unless `reasons`, the reasons against the visit so far, exclude
        it."""
        if visit.link is None or any(r.code == "link-drift" for r in reasons):
            return
        parts: tuple[PhaseReport | LinkReport, ...] = visit.link.phases or (visit.link,)
        for place, part in enumerate(parts):
            for side in _SIDES:
                by_seed = self._longest.setdefault((visit.network, side, place), {})
                lost, tried = luck(side, part.direction(side))
                by_seed[visit.seed] = max(by_seed.get(visit.seed, (0, 0)), (tried, lost))

    def sums(self, network: str, side: Side, phase: int = 0) -> tuple[int, int]:
        """Return the number of independent trials, and of losses among them, in a phase of the
        link."""
        found = self._longest.get((network, side, phase), {}).values()
        return sum(tried for tried, _ in found), sum(lost for _, lost in found)

    def reasons(self, network: Network, limits: Thresholds) -> Iterator[Reason]:
        for place, phase in enumerate(network.phases):
            since = f" from {phase.start_ms:g} ms on" if place else ""
            for side in _SIDES:
                tried, lost = self.sums(network.name, side, place)
                for detail in unlikely_loss(phase.direction(side), lost, tried, limits):
                    yield Reason(
                        "link-drift", f"{side}, over all visits of {network.name}{since}: {detail}"
                    )
