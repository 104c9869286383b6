"""Answers a published claim from our own loads."""

import math
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, structs

from dragstrip_papers.estimate import Estimate, several, words

Verdict = Literal[
    "reproduced",  # what we measured lies within the band that the claim allows
    "equivalent",  # the claim sees a difference, and ours is smaller than the margin
    "contradicted",  # what we measured lies outside the band
    "open",  # more cells or blocks would decide
    "not testable",  # no number of blocks would decide
    "derived",  # follows from arithmetic or from our setup, whatever the loads
]

ALPHA = 0.025
"""One-sided level. A single part of a claim is decided exactly if its 95 % interval lies on one
side."""
WRONG = 0.05
SHORT = 1.3
"""Factor for short samples, see `dragstrip.stats.order_interval.SHORT`."""
_TOGETHER = ALPHA / (WRONG / SHORT)
"""Level for several parts of a claim together. Their answer may be wrong with probability `WRONG`,
even if each part has only five blocks."""


class Answer(Struct, frozen=True, kw_only=True):
    """The answer to a claim. `holds`, `alike` and `fails` are p values. They are the probabilities
    of such loads if the claim did not hold, if the difference reached the margin, and if the claim
    held. One of them at or below `ALPHA` decides."""

    verdict: Verdict
    ours: str = ""
    """Our number with its 95 % interval; empty if there is none."""
    why: str = ""
    holds: float = 1.0
    alike: float = 1.0
    fails: float = 1.0
    floor: float = 0.0
    """Least value that these p values can have with this number of blocks."""
    direction: Verdict | None = None
    """The answer on the claim's direction; None for a claim that names no direction."""
    size: Verdict | None = None
    """The answer on the claim's size; None for a claim that names no size."""
    worst: str = ""
    """Our number if each load that did not end had taken as long as the slowest load of its cell
    that did."""


class Band(Struct, frozen=True, forbid_unknown_fields=True):
    """The range of numbers that a claim allows, including the tolerance."""

    low: float = -math.inf
    high: float = math.inf


def settle(
    found: Estimate,
    band: Band,
    *,
    same: Band | None = None,
    unit: str = "",
    why: str = "",
    slack: float = 0.0,
) -> Answer:
    """Compare an estimate with a band. `same` is the band that counts as no difference. An estimate
    that is nearer than `slack` to an end of the band cannot decide."""
    above = found.p_above(band.low + slack) if band.low > -math.inf else 0.0
    below = found.p_below(band.high - slack) if band.high < math.inf else 0.0
    holds = max(above, below)
    under = found.p_below(band.low - slack) if band.low > -math.inf else 1.0
    over = found.p_above(band.high + slack) if band.high < math.inf else 1.0
    fails = min(under, over)
    return judged(
        Answer(
            verdict="open",
            ours=words(found, unit),
            why=why or _why(found),
            holds=holds,
            alike=max(found.p_above(same.low), found.p_below(same.high)) if same else 1.0,
            fails=fails,
            floor=found.floor,
        )
    )


def _why(found: Estimate) -> str:
    if found.interval() is None:
        return "fewer than five blocks or pages have no interval"
    return "the interval reaches over the edge of what the claim allows"


def judged(answer: Answer) -> Answer:
    """Return the answer with the verdict that its probabilities imply. The answer keeps its reason
    only if there is no verdict."""
    verdicts: tuple[tuple[Verdict, float], ...] = (
        ("reproduced", answer.holds),
        ("equivalent", answer.alike),
        ("contradicted", answer.fails),
    )
    verdict = next((name for name, p in verdicts if p <= ALPHA), None)
    return structs.replace(answer, verdict=verdict, why="") if verdict else answer


def incomplete(answer: Answer, have: int, cells: int, *, universal: bool = False) -> Answer:
    """Return the answer when some of a claim's cells were not run. A result on some cells does not
    settle a claim about all of them. But one cell can contradict a claim about every single cell
    (`universal`)."""
    if have >= cells:
        return answer
    fails = answer.fails if universal else 1.0
    said = f"{answer.verdict} on {have} of its {cells} cells"
    why = said if answer.verdict not in ("open", "not testable") else answer.why
    told = structs.replace(answer, holds=1.0, alike=1.0, fails=fails)
    if answer.verdict == "not testable":
        return told
    return judged(structs.replace(told, verdict="open", why=why or said))


def all_of(answers: Sequence[Answer]) -> Answer:
    """Return the answer of a claim whose parts must all hold. The parts may depend on each
    other."""
    fails = sorted(a.fails for a in answers)
    return _whole(
        answers,
        holds=max(a.holds for a in answers),
        alike=max(min(a.holds, a.alike) for a in answers),
        fails=_of_some(fails, answers),
    )


def every_one(answers: Sequence[Answer]) -> Answer:
    """Return the answer of a claim whose parts must all hold. The parts are independent cells."""
    fails = several([a.fails for a in answers])
    return _whole(
        answers,
        holds=max(a.holds for a in answers),
        alike=max(min(a.holds, a.alike) for a in answers),
        fails=fails if len(answers) == 1 else fails * _TOGETHER,
    )


def any_of(answers: Sequence[Answer]) -> Answer:
    """Return the answer of a claim with alternatives, of which one must hold. The parts may depend
    on each other."""
    fails = max(a.fails for a in answers)
    whole = _whole(
        answers,
        holds=_of_some(sorted(a.holds for a in answers), answers),
        alike=1.0 if fails <= ALPHA else max(min(a.alike, a.fails) for a in answers),
        fails=fails,
    )
    if whole.verdict != "not testable" or all(a.verdict == "not testable" for a in answers):
        return whole
    return structs.replace(whole, verdict="open")


def _of_some(rising: Sequence[float], parts: Sequence[Answer]) -> float:
    """Return the p of the hypothesis that the statement is true of no part: the r-th smallest p,
    times the number of parts, divided by r. This p is valid for any dependence between parts. Here
    r is the smallest number at which r parts have enough blocks to decide; with many blocks it is
    1.

    Source: Ruger, "Das maximale Signifikanzniveau des Tests: Lehne H0 ab, wenn k unter n gegebenen
    Tests zur Ablehnung fuhren", Metrika 25 (1978), 171-178.
    """
    count = len(rising)
    if count == 1:
        return rising[0]
    floors = enumerate(sorted(part.floor for part in parts), start=1)
    can = (r for r, floor in floors if floor * count / r * _TOGETHER <= ALPHA * (1 + 1e-9))
    r = next(can, count)
    return min(1.0, rising[r - 1] * count / r * _TOGETHER)


def _whole(answers: Sequence[Answer], *, holds: float, alike: float, fails: float) -> Answer:
    whole = judged(
        Answer(
            verdict="open",
            ours="; ".join(a.ours for a in answers if a.ours),
            holds=holds,
            alike=alike,
            fails=fails,
            floor=max(a.floor for a in answers),
        )
    )
    if whole.verdict != "open":
        reasons = dict.fromkeys(a.why for a in answers if a.why and a.verdict == whole.verdict)
        return structs.replace(whole, why="; ".join(reasons))
    untested = [a for a in answers if a.verdict == "not testable"]
    left = untested or [a for a in answers if a.verdict == "open"]
    reasons = dict.fromkeys(a.why for a in left if a.why)
    if not left:
        reasons = {"its parts disagree, or too few of them are shown": None}
    verdict: Verdict = "not testable" if untested else "open"
    return structs.replace(whole, verdict=verdict, why="; ".join(reasons))
