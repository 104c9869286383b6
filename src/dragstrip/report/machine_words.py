"""What several machines made, in words."""

from dragstrip.report.words import counted, listed
from dragstrip.results.machines import Machines

_ALPHA = 0.05


def sentence(found: Machines | None) -> str:
    """Empty if a single machine made the study."""
    if found is None:
        return ""
    made = listed([f"{name} ({counted(n, 'visit')})" for name, n in found.visits.items()])
    said = f"Made on {len(found.visits)} machines: {made}. Blocks are whole, so each pair met one."
    if not found.tested:
        return f"{said} Whether they agree cannot be said: none of two made two blocks of a cell."
    apart = [one for one in found.tested if one.p < _ALPHA]
    if not apart:
        least = min(one.p for one in found.tested)
        return f"{said} No disagreement shown (adjusted p {least:.2g} at least)."
    shown = "; ".join(
        f"{one.b} / {one.a} on {one.cell} is "
        + listed([f"{ratio:.3f} on {name}" for name, ratio in one.ratios.items()])
        + f" (adjusted p {one.p:.2g})"
        for one in sorted(apart, key=lambda one: one.p)[:3]
    )
    return f"{said} They disagree on {counted(len(apart), 'comparison')}: {shown}."
