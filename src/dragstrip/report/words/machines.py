"""Says whether several machines agree."""

from dragstrip.report.words.numbers import counted, listed
from dragstrip.results.compare.machines import Disagreement, Machines

_ALPHA = 0.05
_NAMED = 8
"""Most machines that are named one by one."""


def sentence(found: Machines | None) -> str:
    """Return a sentence on whether machines agree; empty if a single machine made the study."""
    if found is None:
        return ""
    made = listed([f"{name} ({counted(n, 'visit')})" for name, n in found.visits.items()])
    if len(found.visits) > _NAMED:
        made = f"{counted(min(found.visits.values()), 'visit')} or more on each"
    said = f"Made on {len(found.visits)} machines: {made}. No block spans two machines."
    said += _odd(found)
    if not found.tested:
        return (
            f"{said} Whether they agree is unknown: no two of them made two blocks of the same "
            "cell."
        )
    apart = [one for one in found.tested if one.p < _ALPHA]
    if not apart:
        least = min(one.p for one in found.tested)
        return f"{said} No disagreement shown (adjusted p at least {least:.2g})."
    shown = "; ".join(
        f"{one.b} / {one.a} on {one.cell} is " + _ratios(one) + f" (adjusted p {one.p:.2g})"
        for one in sorted(apart, key=lambda one: one.p)[:3]
    )
    return f"{said} They disagree on {counted(len(apart), 'comparison')}: {shown}."


def _ratios(one: Disagreement) -> str:
    if len(one.ratios) <= _NAMED:
        return listed([f"{ratio:.3f} on {name}" for name, ratio in one.ratios.items()])
    least, most = (pick(one.ratios, key=one.ratios.__getitem__) for pick in (min, max))
    return f"from {one.ratios[least]:.3f} on {least} to {one.ratios[most]:.3f} on {most}"


def _odd(found: Machines) -> str:
    if not found.odd:
        return ""
    shown = "; ".join(
        f"{one.b} / {one.a} on {one.machine} is {one.factor:.2f} times what it is on the others "
        f"(adjusted p {one.p:.2g})"
        for one in found.odd[:_NAMED]
    )
    more = f"; and {len(found.odd) - _NAMED} more" if len(found.odd) > _NAMED else ""
    return f" Look at {'this machine' if len(found.odd) == 1 else 'these machines'}: {shown}{more}."
