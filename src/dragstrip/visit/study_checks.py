"""What only shows when all visits of a network are laid side by side: a little loss, gone wrong.

A visit of a thousand packets cannot tell 1 % from 2 %, a study can.
"""

from collections.abc import Iterable, Iterator

from msgspec import structs

from dragstrip.model.network import Network, Side
from dragstrip.model.study import Study
from dragstrip.model.thresholds import Thresholds
from dragstrip.model.visit import LinkReport, Reason, Visit
from dragstrip.visit.link_checks import trials, unlikely_loss

_SIDES: tuple[Side, Side] = ("down", "up")


def with_study_reasons(study: Study, visits: Iterable[Visit]) -> list[Visit]:
    """The visits in their order, each with the reasons that all visits of its network give.

    Derived, never stored: the journal keeps a visit before the study is complete.
    """
    every = list(visits)
    found = {
        n.name: tuple(
            cumulative_loss(n, [v for v in every if v.network == n.name], study.thresholds)
        )
        for n in study.networks
    }
    return [
        structs.replace(
            v, reasons=(*v.reasons, *(r for r in found[v.network] if r not in v.reasons))
        )
        if found.get(v.network)
        else v
        for v in every
    ]


def cumulative_loss(
    network: Network, visits: Iterable[Visit], limits: Thresholds
) -> Iterator[Reason]:
    """Is the loss of all visits together the one asked for, in each direction?

    Visits with the same seed share their luck packet by packet, so of each seed only the visit in
    which most packets met it counts: what is left are independent trials. That a visit ends when
    its page is loaded does not bend the sum, since it cannot foresee its next packet (optional
    stopping). A visit whose own link drifted is out of it already.
    """
    reports = [
        (v.seed, v.link)
        for v in visits
        if v.link and not any(r.code == "link-drift" for r in v.reasons)
    ]
    for side in _SIDES:
        tried, lost = together(side, reports)
        for detail in unlikely_loss(network.direction(side), lost, tried, limits):
            yield Reason("link-drift", f"{side}, over all visits of {network.name}: {detail}")


def together(side: Side, reports: Iterable[tuple[int, LinkReport]]) -> tuple[int, int]:
    """Independent trials and losses of visits by the seed of their luck."""
    longest: dict[int, tuple[int, int]] = {}
    for seed, link in reports:
        got = link.down if side == "down" else link.up
        longest[seed] = max(longest.get(seed, (0, 0)), (trials(side, got), got.dropped_loss))
    return sum(tried for tried, _ in longest.values()), sum(lost for _, lost in longest.values())
