"""Decides a claim's direction and its size, each by itself.

The direction of a claim is the same predicate with its band opened on the far side: ``QUIC is 9 %
faster, give or take 4`` has ``QUIC is faster`` as its direction. A claim that something stays about
the same has only a direction. A claim on how many times as long a load takes with more delay or
loss has only a size: that it takes longer is no finding.

A page that only stands for the paper's, or a network of which only means are known, shows a
direction. It shows no size, so it can neither confirm nor refute a size.
"""

from collections.abc import Sequence
from math import inf, isclose

from msgspec import structs

from dragstrip_papers.answer import Answer
from dragstrip_papers.answers.ended import of_ended
from dragstrip_papers.compare import Ratio, RatioShift
from dragstrip_papers.gains import Allowed, AnovaCount, Gain, MeanDelta
from dragstrip_papers.levels import Absolute, Difference, ImpliedBytes, Sensitivity
from dragstrip_papers.measured import Evidence
from dragstrip_papers.predicates import All, AnyPredicate, Either, Simple
from dragstrip_papers.reached import reached
from dragstrip_papers.rtts import OneRtt, OneRttTable
from dragstrip_papers.scenarios import ScenarioShare, Tree
from dragstrip_papers.shares import Extreme, FasterShare

PAGES_OWN = "its size belongs to the paper's own pages, and these are stand-ins"
FRAME_MS = 1000 / 60
"""Time in ms between two frames. If computing takes no time, a first paint comes up to a frame
earlier or later than the network alone would cause (docs/reference/virtual-time.md)."""

Banded = Ratio | RatioShift | Extreme | Gain | MeanDelta | Difference | Sensitivity | OneRtt


def decide(
    predicate: AnyPredicate, evidence: Evidence, *, standin: str = "", frames: bool = False
) -> Answer:
    """Return a claim's answer, with the answers on its direction and on its size.

    `standin` says why the paper's sizes cannot be tested, whatever the pages. `frames` means that
    computing takes no time in these loads, so that a paint shows no difference shorter than a
    frame.
    """
    if frames:
        predicate = by_frames(predicate)
    whole = of_ended(predicate, evidence)
    way = direction(predicate)
    if way == predicate:
        return structs.replace(whole, direction=whole.verdict)
    side = of_ended(way, evidence) if way else None
    if not standin and any(cell.standin for cell in reached(predicate, evidence.cells)):
        standin = PAGES_OWN
    if not standin or not whole.ours:
        return structs.replace(whole, direction=side and side.verdict, size=whole.verdict)
    if side is None:
        return Answer(
            verdict="not testable",
            ours=whole.ours,
            why=standin,
            size="not testable",
            worst=whole.worst,
        )
    told = structs.replace(
        side, ours=whole.ours, worst=whole.worst, direction=side.verdict, size="not testable"
    )
    return structs.replace(told, why=side.why or standin)


def direction(predicate: AnyPredicate) -> AnyPredicate | None:
    """Return the predicate without its size: the predicate itself if it names no size, None if no
    direction is left."""
    if isinstance(predicate, All | Either):
        sides = [direction(part) for part in predicate.parts]
        kept = [side for side in sides if side is not None]
        if not kept or (isinstance(predicate, Either) and len(kept) < len(sides)):
            return None
        return structs.replace(predicate, parts=kept)
    return _side(predicate)


def has_size(predicate: AnyPredicate) -> bool:
    return direction(predicate) != predicate


def _side(part: Simple) -> Simple | None:
    match part:
        case Ratio() | RatioShift() | Extreme() | Gain() | MeanDelta() | Difference() | OneRtt():
            return _half(part, 1.0 if isinstance(part, Ratio | RatioShift | Extreme) else 0.0)
        case Sensitivity():
            return part if _one_sided(part) or _alike(part, _calm(part)) else None
        case FasterShare():
            if part.at_least < 0.5:
                return None
            return structs.replace(part, at_least=0.5, at_most=1.0)
        case AnovaCount() if part.faster.low:
            most = Allowed(low=part.cells // 2 + 1, high=part.cells)
            return structs.replace(part, faster=most)
        case OneRttTable() if part.positive.high == 0:
            return structs.replace(part, greatest=None)
        case Absolute() | ImpliedBytes() | OneRttTable() | ScenarioShare() | Tree():
            return None
    return part


def _half(part: Banded, neutral: float) -> Simple | None:
    """Return a predicate that the number lies on the same side of `neutral` as the whole band; None
    if the band lies on both sides."""
    low, high = part.at_least, part.at_most
    open_ = 0.0 if isinstance(part, Ratio | RatioShift | Extreme) else -inf
    if low <= open_:
        low = -inf
    if _alike(part, neutral):
        return part
    if low >= neutral:
        return structs.replace(part, at_least=neutral, at_most=inf)
    if high <= neutral:
        return structs.replace(part, at_least=open_, at_most=neutral)
    return None


def _alike(part: Banded, neutral: float) -> bool:
    """Return whether the band lies around `neutral`, equally far on both sides."""
    low, high = part.at_least, part.at_most
    if neutral:
        return isclose(low * high, 1.0, rel_tol=1e-3)
    return isclose(low + high, 0.0, abs_tol=1e-9)


def _calm(part: Sensitivity) -> float:
    return 1.0 if part.scale == "ratio" else 0.0


def _one_sided(part: Sensitivity) -> bool:
    return (part.at_least, part.at_most) in ((_calm(part), inf), (-inf, _calm(part)))


def by_frames(predicate: AnyPredicate) -> AnyPredicate:
    """Return the predicate for loads in which a paint shows no difference shorter than a frame."""
    if isinstance(predicate, All | Either):
        parts: Sequence[Simple] = [_framed(part) for part in predicate.parts]
        return structs.replace(predicate, parts=parts)
    return _framed(predicate)


def _framed(part: Simple) -> Simple:
    painted = {part.metric, *getattr(part, "metrics", ())}
    if isinstance(part, OneRtt | OneRttTable) and any(m.startswith("visual_") for m in painted):
        return structs.replace(part, frame_ms=FRAME_MS)
    return part
