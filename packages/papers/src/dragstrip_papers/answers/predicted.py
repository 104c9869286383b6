"""Finds claims that the load generator cannot answer: claims about painting, computing or caching,
and about handshakes of TLS 1.2.

Such a claim stays open, whatever else was measured.
"""

import msgspec
import polars as pl
from msgspec import structs

from dragstrip.study.presets import stacks
from dragstrip_papers.answer import Answer
from dragstrip_papers.answers.missing import DECIDED
from dragstrip_papers.campaign.clients import WITH_CACHE
from dragstrip_papers.campaign.space import unhindered
from dragstrip_papers.claims import Paper
from dragstrip_papers.measured import Evidence
from dragstrip_papers.parts import parts_of
from dragstrip_papers.predicates import AnyPredicate
from dragstrip_papers.rtts import HandshakeRtts
from dragstrip_papers.shares import FasterShare

NO_SHARE = (
    "the load generator shows no size of a share: it names Chromium's winner in five of six cells"
)
PAINTED = {
    "fcp_ms": "first contentful paint",
    "visual_fvc_ms": "first visual change",
    "visual_lvc_ms": "last visual change",
    "visual_vc85_ms": "85 % visual completeness",
    "visual_speed_index_ms": "SpeedIndex",
}
"""Metrics of what is painted, by column, in words."""


def without_paint(evidence: Evidence) -> Evidence:
    """Return the evidence without metrics of painting. A load that never ended has these metrics at
    the client's limit, which would be wrong for the load generator."""
    nothing = [pl.lit(None, dtype=pl.Float64).alias(name) for name in PAINTED]
    return structs.replace(evidence, loads=evidence.loads.with_columns(nothing))


def beyond(paper: Paper, predicate: AnyPredicate | None, reached: pl.DataFrame) -> str:
    """Return why the load generator cannot answer a claim about the cells `reached`; empty if it
    can, or if there is no predicate to answer."""
    if predicate is None:
        return ""
    text = msgspec.json.encode(predicate).decode()
    if painted := [words for name, words in PAINTED.items() if f'"{name}"' in text]:
        return f"it asks for {' and '.join(painted)}, and the load generator paints nothing"
    if played := _played(predicate):
        return (
            f"it counts round trips of TLS 1.2 with {', '.join(played)}, and the load generator "
            "plays that by TLS 1.3"
        )
    if len(reached) and {*reached["study"]} <= {*paper.real_time}:
        return "computing decides it, and the load generator computes nothing"
    if free := len(unhindered(reached)):
        return (
            f"on {free} of its {len(reached)} cells nothing but computing takes time, and the load "
            "generator computes nothing"
        )
    if cached := len(reached.filter(connection=WITH_CACHE)):
        return (
            f"{cached} of its {len(reached)} cells are visits with a warm cache, and the load "
            "generator has no cache"
        )
    return ""


def without_shares(predicate: AnyPredicate, answer: Answer) -> Answer:
    """Return the answer without its size if that is a share of cells. The load generator names
    Chromium's winner in five of six cells, and a share counts winners: its interval lacks that
    error."""
    counts = any(isinstance(part, FasterShare) for part in parts_of(predicate))
    if not counts or answer.size not in DECIDED:
        return answer
    verdict = answer.direction or "open"
    return structs.replace(answer, verdict=verdict, size="open", why=NO_SHARE)


def _played(predicate: AnyPredicate) -> list[str]:
    """Return the stacks with TLS 1.2 whose handshakes the predicate counts."""
    counted = [part.stack for part in parts_of(predicate) if isinstance(part, HandshakeRtts)]
    known = stacks()
    return [name for name in counted if name in known and known[name].tls == "1.2"]
