"""Applies today's rules to answers whose loads are not kept.

Older rules gave these answers, and only what their page prints is left. A number with an interval
is compared with the claim again. An answer without an interval stands as printed, unless today's
rules exclude it: stand-ins show no size, and a claim with loads that did not end stays open.

For a mean, the page prints the interval of the typical round, and then the mean. Both must show the
answer.
"""

import re
from collections.abc import Sequence
from math import inf

from msgspec import Struct, structs

from dragstrip.study.presets import networks
from dragstrip_papers.answer import Verdict
from dragstrip_papers.answers.clock_error import on_a_fast_network
from dragstrip_papers.answers.ended import MOST
from dragstrip_papers.answers.missing import DECIDED
from dragstrip_papers.claims import Claim
from dragstrip_papers.deciding import FRAME_MS, PAGES_OWN, direction
from dragstrip_papers.overall.given import IN_VIRTUAL_TIME, Given, Told
from dragstrip_papers.parts import parts_of
from dragstrip_papers.predicates import All, AnyPredicate, Simple
from dragstrip_papers.rtts import OneRtt
from dragstrip_papers.scenarios import ScenarioShare
from dragstrip_papers.shares import FasterShare

UNKNOWN = "its loads are not kept, and the printed number does not decide by today's rules"
NO_TIMES = "its loads are not kept, so how far the virtual clock may be off is not known"
_NUMBER = r"-?(?:\d+(?:\.\d+)?(?:e[+-]?\d+)?|inf)"
_SPAN = re.compile(
    rf"({_NUMBER})(?: \w+)? \[({_NUMBER}), ({_NUMBER})\]"
    rf"(?:, as the paper computes it ({_NUMBER}))?"
)
_LOST = re.compile(r"(\d+) of (\S+)")


class _Printed(Struct, frozen=True):
    """A printed answer, and whether its number can be evaluated again."""

    told: Told
    virtual: bool
    known: bool
    """Whether the rules behind its interval are known."""


class Span(Struct, frozen=True):
    """A printed interval, widened to include the paper's own number."""

    low: float
    high: float


def reread(claim: Claim, given: Given, told: Told) -> Told:
    """Return the answer under today's rules. The function never raises: if the number does not
    decide, the claim is open."""
    found = _by_print(claim, given, told)
    virtual = given.way in IN_VIRTUAL_TIME and found.answer in DECIDED
    if claim.predicate and virtual and (network := on_a_fast_network(claim.predicate)):
        return _open(found, claim.predicate, f"{NO_TIMES} over {network}")
    return found


def _by_print(claim: Claim, given: Given, told: Told) -> Told:
    predicate = claim.predicate
    if claim.derived:
        return structs.replace(told, answer="derived", direction=None, size=None, more=None)
    if predicate is None or not told.ours:
        return told
    if told.answer in DECIDED and _lost(told) > MOST:
        why = f"{told.unended} loads did not end, and the loads are not kept"
        return _open(told, predicate, why)
    printed = _Printed(told, virtual=given.way in IN_VIRTUAL_TIME, known=bool(given.rules))
    whole = _again(predicate, printed)
    way = direction(predicate)
    if way == predicate:
        return structs.replace(told, answer=whole, direction=whole, why=_why(told, whole))
    side: Verdict | None = None
    if way is not None:
        side = "reproduced" if whole == "reproduced" else _by_number(way, printed)
    standin = PAGES_OWN if told.pages.endswith("stand-in") else claim.live
    if not standin:
        found = structs.replace(told, answer=whole, direction=side, size=whole)
        return structs.replace(found, why=_why(told, whole))
    answer = side or "not testable"
    why = UNKNOWN if answer == "open" else standin
    return structs.replace(
        told, answer=answer, direction=side, size="not testable", why=why, more=None
    )


def _again(predicate: AnyPredicate, printed: _Printed) -> Verdict:
    """Return the answer that the printed numbers imply, if they can be assigned to the parts of the
    claim; otherwise the answer as it was given."""
    given = printed.told.answer
    if given == "equivalent" or not _numbers(predicate, printed):
        return given if given in (*DECIDED, "not testable") else "open"
    return _by_number(predicate, printed)


def _by_number(predicate: AnyPredicate, printed: _Printed) -> Verdict:
    numbers = _numbers(predicate, printed)
    if not numbers:
        return "open"
    if all(span.low >= low + s and span.high <= high - s for span, low, high, s in numbers):
        return "reproduced"
    outside = any(span.high < low - s or span.low > high + s for span, low, high, s in numbers)
    return "contradicted" if outside else "open"


def _numbers(predicate: AnyPredicate, printed: _Printed) -> list[tuple[Span, float, float, float]]:
    """Return each printed interval with its band and slack. None are returned if the intervals
    cannot be assigned to the parts of the claim, or if not all its cells were run."""
    parts, told = list(parts_of(predicate)), printed.told
    if not printed.known or max(told.run, int(told.loads > 0)) < max(part.cells for part in parts):
        return []
    several = len(parts) > 1
    if several and not isinstance(predicate, All):
        return []
    bands = [_band(part) for part in parts]
    spans = _spans(told.ours)
    if len(spans) != len(parts) or any(band is None for band in bands):
        return []
    slack = [_slack(part) if printed.virtual else 0.0 for part in parts]
    return [
        (span, *band, s)
        for span, band, s in zip(spans, bands, slack, strict=True)
        if band is not None
    ]


def _spans(ours: str) -> Sequence[Span]:
    found = []
    for match in _SPAN.finditer(ours):
        low, high, own = float(match[2]), float(match[3]), match[4]
        if own is not None:
            low, high = min(low, float(own)), max(high, float(own))
        found.append(Span(low, high))
    return found


def _band(part: Simple) -> tuple[float, float] | None:
    if getattr(part, "each", False):
        return None
    low, high = getattr(part, "at_least", None), getattr(part, "at_most", None)
    if low is None and high is None:
        return None
    if isinstance(part, FasterShare | ScenarioShare):
        high = inf if high == 1 else high
    return -inf if low is None else low, inf if high is None else high


def _slack(part: Simple) -> float:
    """Return the length of a frame in round trips for a first paint; 0 for other metrics."""
    network = networks().get(str(part.where.get("network")))
    if not isinstance(part, OneRtt) or not part.metric.startswith("visual_") or network is None:
        return 0.0
    return FRAME_MS / network.rtt_ms


def _lost(told: Told) -> float:
    """Return the largest share of a stack's loads that did not end."""
    made = max(told.run, 1) * max(told.loads, 1)
    return max((int(count) / made for count, _ in _LOST.findall(told.unended)), default=0.0)


def _open(told: Told, predicate: AnyPredicate, why: str) -> Told:
    way = direction(predicate)
    return structs.replace(
        told,
        answer="open",
        direction="open" if way is not None else None,
        size="open" if way != predicate else None,
        why=why,
        more=None,
    )


def _why(told: Told, now: Verdict) -> str:
    if now == told.answer:
        return told.why
    return UNKNOWN if now == "open" else ""
