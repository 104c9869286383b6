"""What becomes of a published claim once we have loads of our own."""

import math
from typing import Literal

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from dragstrip.stats.bootstrap import expanded

Verdict = Literal[
    "reproduced",  # our interval lies within what the claim allows
    "contradicted",  # it lies outside
    "equivalent",  # the claim sees a difference, and ours is smaller than the margin
    "not decided at this scale",  # more cells or blocks would decide
    "not testable here",  # no number of blocks would
]
UNDECIDED: Verdict = "not decided at this scale"
UNTESTABLE: Verdict = "not testable here"

LEAST_UNITS = 5
"""No resample leaves the range of its units, and without any difference n of them all lie on one
side with a probability of 2^(1 - n): 50 % for two, 6 % for five."""

Replicates = NDArray[np.float64]
"""A statistic of the sample itself, then of its bootstrap resamples."""


class Answer(Struct, frozen=True, kw_only=True):
    verdict: Verdict
    ours: str = ""
    """Our number with its 95 % interval; empty if there is none."""
    why: str = ""


class Estimate(Struct, frozen=True):
    value: float
    low: float
    """Minus infinity where there are too few values for an interval."""
    high: float

    @property
    def unbounded(self) -> bool:
        """There is no interval."""
        return math.isinf(self.low) and math.isinf(self.high)

    def within(self, low: float, high: float) -> bool:
        return low <= self.low and self.high <= high

    def outside(self, low: float, high: float) -> bool:
        return self.high < low or self.low > high

    def words(self, unit: str = "") -> str:
        unit = f" {unit}" if unit else ""
        if self.unbounded:
            return f"{self.value:.4g}{unit}, too few blocks for an interval"
        return f"{self.value:.4g}{unit} [{self.low:.4g}, {self.high:.4g}]"


def estimate(replicates: Replicates, units: int, level: float = 0.95) -> Estimate:
    """`units` is how many blocks or pages were resampled."""
    interval = expanded(replicates[1:], units, level) if units >= LEAST_UNITS else None
    low, high = interval or (-math.inf, math.inf)
    return Estimate(float(replicates[0]), low, high)


class Band(Struct, frozen=True, forbid_unknown_fields=True):
    """What a claim allows, tolerance included."""

    low: float = -math.inf
    high: float = math.inf


def settle(
    found: Estimate, band: Band, *, same: Band | None = None, unit: str = "", why: str = ""
) -> Answer:
    """Hold an interval against a band; `same` is what would count as no difference at all."""
    verdict: Verdict = UNDECIDED
    if found.within(band.low, band.high):
        verdict = "reproduced"
    elif same and found.within(same.low, same.high):
        verdict = "equivalent"
    elif found.outside(band.low, band.high):
        verdict = "contradicted"
    elif not why and found.unbounded:
        why = f"fewer than {LEAST_UNITS} blocks or pages have no interval"
    elif not why:
        why = "the interval reaches over the edge of what the claim allows"
    return Answer(verdict=verdict, ours=found.words(unit), why=why)


def incomplete(answer: Answer, have: int, cells: int) -> Answer:
    """What holds on some of a claim's cells does not settle a claim about all of them."""
    if have >= cells or answer.verdict in (UNDECIDED, UNTESTABLE):
        return answer
    return structs.replace(
        answer, verdict=UNDECIDED, why=f"{answer.verdict} on {have} of its {cells} cells"
    )


def together(answers: list[Answer]) -> Answer:
    """All must hold: one contradiction contradicts, one open part leaves it open."""
    order: list[Verdict] = ["contradicted", UNTESTABLE, UNDECIDED, "equivalent", "reproduced"]
    verdict = next(v for v in order if v in [a.verdict for a in answers])
    reasons = dict.fromkeys(a.why for a in answers if a.why and a.verdict == verdict)
    return Answer(
        verdict=verdict,
        ours="; ".join(a.ours for a in answers if a.ours),
        why="; ".join(reasons),
    )
