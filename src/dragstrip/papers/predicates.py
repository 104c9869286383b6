"""All kinds of predicates: a claim's `predicate` table names one by its `kind`.

The set is closed. A kind is a pure function of the evidence and of the parameters in the table.
"""

from typing import get_args

from dragstrip.papers.answer import Answer, together
from dragstrip.papers.base import Predicate
from dragstrip.papers.compare import (
    Correlation,
    Equal,
    MonotoneIn,
    Ordering,
    Ratio,
    RatioShift,
    SameRanking,
)
from dragstrip.papers.evidence import Evidence
from dragstrip.papers.gains import AnovaCount, Gain, MagnitudeOrder, MeanDelta
from dragstrip.papers.levels import (
    Absolute,
    AuditCount,
    Corpus,
    Difference,
    ImpliedBytes,
    Sensitivity,
    SensitivityOrder,
)
from dragstrip.papers.rtts import HandshakeRtts, OneRtt, OneRttTable
from dragstrip.papers.scenarios import Rule7010, ScenarioShare, Tree
from dragstrip.papers.shares import Extreme, FasterShare, ShareOrder

Simple = (
    Absolute
    | AnovaCount
    | AuditCount
    | Corpus
    | Correlation
    | Difference
    | Equal
    | Extreme
    | FasterShare
    | Gain
    | HandshakeRtts
    | ImpliedBytes
    | MagnitudeOrder
    | MeanDelta
    | MonotoneIn
    | OneRtt
    | OneRttTable
    | Ordering
    | Ratio
    | RatioShift
    | Rule7010
    | SameRanking
    | ScenarioShare
    | Sensitivity
    | SensitivityOrder
    | ShareOrder
    | Tree
)


class All(Predicate, kw_only=True, frozen=True):
    """Every part holds."""

    parts: list[Simple]

    def answer(self, evidence: Evidence) -> Answer:
        return together([part.answer(evidence) for part in self.parts])


class Either(Predicate, kw_only=True, frozen=True):
    """One reading holds, where the paper leaves open which it means; all are told."""

    parts: list[Simple]

    def answer(self, evidence: Evidence) -> Answer:
        answers = [part.answer(evidence) for part in self.parts]
        whole = together(answers)
        held = next((a for a in answers if a.verdict == "reproduced"), None)
        if held is None:
            open_ = [a for a in answers if a.verdict not in ("contradicted", "equivalent")]
            held = open_[0] if open_ else whole
        return Answer(verdict=held.verdict, ours=whole.ours, why=held.why)


AnyPredicate = Simple | All | Either
KINDS: tuple[type[Predicate], ...] = (*get_args(Simple), All, Either)
