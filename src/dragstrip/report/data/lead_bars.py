"""The bars that show a cell's answer: one per stack, the leader first, all on one axis.

Everything up to the leader's end is solid; what a slower stack takes longer is drawn apart, and
only outlined if no difference is shown.
"""

from collections.abc import Sequence

from msgspec import Struct

from dragstrip.model.stack import Stack
from dragstrip.report.data.cells import ReportCell
from dragstrip.report.data.effect import Advantage


class LeadBar(Struct, frozen=True, kw_only=True):
    """Positions are shares of the axis, from 0 to 1."""

    stack: Stack
    median_ms: float
    unended: bool
    """Whether the median load did not end: the bar is cut at the time limit."""
    solid: float
    """End of the leader's bar, or of this one if it is shorter."""
    end: float
    span: tuple[float, float] | None
    """Interval of this stack's load time, if the leader took its median; None without one."""
    effect: Advantage | None
    """None for the leader."""


def lead_bars(cell: ReportCell, found: Sequence[Advantage]) -> list[LeadBar]:
    """Return the bars. The list is empty without a comparison."""
    if not found:
        return []
    results = {r.stack.name: r for r in cell.results}
    names: list[tuple[str, Advantage | None]] = [(found[0].best, None)]
    names += [(one.rival, one) for one in found]
    medians = {name: results[name].medians["plt_ms"].value for name, _ in names}
    first = medians[found[0].best]
    spans = {one.rival: _span(one, first) for one in found}
    reached = [span[1] for span in spans.values() if span]
    axis = min(max([*medians.values(), *reached]), 3 * max(medians.values())) * 1.02
    bars = []
    for name, effect in names:
        span = spans.get(name)
        bars.append(
            LeadBar(
                stack=results[name].stack,
                median_ms=medians[name],
                unended=results[name].censored * 2 > len(results[name].loads.values),
                solid=min(first, medians[name]) / axis,
                end=medians[name] / axis,
                span=(span[0] / axis, min(span[1] / axis, 1)) if span else None,
                effect=effect,
            )
        )
    return bars


def _span(effect: Advantage, first_ms: float) -> tuple[float, float] | None:
    """Return the interval of the rival's load time in ms, were the leader's `first_ms`."""
    if effect.ends is None or effect.ends[1] >= 1:
        return None
    return first_ms / (1 - effect.ends[0]), first_ms / (1 - effect.ends[1])
