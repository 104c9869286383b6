"""Lists all kinds of predicates. A claim's `predicate` table names one of them by its `kind`.

The set is closed. A kind is a pure function of the evidence and of the parameters in the table.
"""

from collections.abc import Iterable, Sequence
from typing import get_args

import msgspec
from msgspec import structs

from dragstrip_papers.answer import Answer, all_of, any_of
from dragstrip_papers.base import Predicate, ask
from dragstrip_papers.compare import (
    Correlation,
    Equal,
    MonotoneIn,
    Ordering,
    Ratio,
    RatioShift,
    SameRanking,
)
from dragstrip_papers.gains import AnovaCount, Gain, MagnitudeOrder, MeanDelta
from dragstrip_papers.levels import (
    Absolute,
    AuditCount,
    Corpus,
    Difference,
    ImpliedBytes,
    Sensitivity,
    SensitivityOrder,
)
from dragstrip_papers.measured import Evidence
from dragstrip_papers.rtts import HandshakeRtts, OneRtt, OneRttTable
from dragstrip_papers.scenarios import Rule7010, ScenarioShare, Tree
from dragstrip_papers.shares import Extreme, FasterShare, ShareOrder

VERSION = 3
"""Version of the predicates. Every change of predicates, estimators or evidence that can change an
answer raises it. CHANGELOG.md says what changed."""

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
    """States that every part holds."""

    parts: list[Simple]
    loads: int = 1
    """Least loads of the whole predicate. Each part has its own number and checks it."""

    def answer(self, evidence: Evidence) -> Answer:
        return all_of(_answers(self.parts, evidence))


class Either(Predicate, kw_only=True, frozen=True):
    """States that one of several readings holds, if the paper leaves open which it means. The
    answer shows all readings."""

    parts: list[Simple]
    loads: int = 1
    """Least loads of the whole predicate. Each part has its own number and checks it."""

    def answer(self, evidence: Evidence) -> Answer:
        return any_of(_answers(self.parts, evidence))


def _answers(parts: Sequence[Simple], evidence: Evidence) -> list[Answer]:
    """Return the answers of all parts. If the parts compare different stacks, each number is
    labelled with its stacks."""
    names = [_compared(part) for part in parts]
    named = len(set(names)) > 1
    found = [ask(part, evidence) for part in parts]
    return [
        structs.replace(a, ours=f"{name}: {a.ours}") if named and name and a.ours else a
        for name, a in zip(names, found, strict=True)
    ]


def _compared(part: Predicate) -> str:
    a, b, ref = (getattr(part, name, None) for name in ("a", "b", "ref"))
    if isinstance(b, str):
        return f"{b} / {a}"
    return f"{a} against {ref}" if ref else str(getattr(part, "stack", ""))


AnyPredicate = Simple | All | Either
KINDS: tuple[type[Predicate], ...] = (*get_args(Simple), All, Either)


def stacks_of(predicate: AnyPredicate, among: Iterable[str]) -> list[str]:
    """Return which of these stacks a predicate names."""
    text = msgspec.json.encode(predicate).decode()
    return [stack for stack in among if f'"{stack}"' in text]
