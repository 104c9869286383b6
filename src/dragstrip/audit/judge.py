"""Judges captures. In doubt, every rule favours the capture.

A row holds the findings on one capture; the summary counts findings over all captures. Rows and
summary make up the audit's JSON, so their field names are a contract (docs/howto/audit.md).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

import msgspec
from msgspec import Struct, structs

from dragstrip.audit.capture import CapturedPage, CapturedRequest
from dragstrip.audit.claims import Claims
from dragstrip.audit.dialects import Family


class AuditRow(Struct, frozen=True, kw_only=True):
    """One capture. Fields are None where the capture or its claims do not say."""

    name: str
    title: str
    tool: str
    claims: Claims
    load_ms: float | None
    wire_bytes: int | None
    """Wire bytes of all answers that ended before the load event."""
    least_load_ms: float | None
    """Time in ms that `wire_bytes` take at the claimed rate. No load can be faster. Round trips are
    left out, so the true minimum is higher."""
    impossible: bool
    judged: int
    """Complete answers from the network. Only these are judged."""
    protocol_answers: dict[Family, int]
    """Complete answers from the network, by protocol. Answers that do not say their protocol are
    left out."""
    protocol_bytes: dict[Family, int]
    """Wire bytes of the answers of each protocol."""
    connect_min_ms: float | None
    connect_median_ms: float | None
    fast_connects: bool
    """More than half of the new connections took less than one claimed round trip. TCP with TLS
    needs two or three."""
    cached: int
    failed: int
    unread: int
    """Entries without a URL or a start, which were left out."""
    aborted: bool
    """The capture has no load event."""
    findings: tuple[str, ...] = ()
    """Faults of the capture, in words; empty if there are none."""

    @property
    def claimed_share(self) -> float | None:
        """Return the share of the answers that came over the claimed protocol; None without a claim
        or without answers."""
        answers = sum(self.protocol_answers.values())
        if not (self.claims.protocol and answers):
            return None
        return self.protocol_answers.get(self.claims.protocol, 0) / answers

    @property
    def claimed_byte_share(self) -> float | None:
        size = sum(self.protocol_bytes.values())
        if not (self.claims.protocol and size):
            return None
        return self.protocol_bytes.get(self.claims.protocol, 0) / size


class Connects(Struct, frozen=True):
    """The captures that claim the same round trip, with the median of their fastest connects."""

    rtt_ms: float
    captures: int
    connect_ms: float


class AuditSummary(Struct, frozen=True, kw_only=True):
    """The audit of many captures."""

    captures: int
    impossible: int
    """Captures whose load took less time than their bytes need at the claimed rate."""
    judged_for_rate: int
    """Captures with a claimed rate, a load event and wire sizes: only those can be impossible."""
    quic_labelled: int
    pure_quic: int
    """Captures labelled QUIC in which every answer came over QUIC."""
    no_quic: int
    """Captures labelled QUIC in which no answer came over QUIC."""
    quic_share: float | None
    """QUIC's share of the answers in captures labelled QUIC, all captures taken together."""
    quic_byte_share: float | None
    """QUIC's share of the bytes in captures labelled QUIC, all captures taken together."""
    quic_byte_share_mean: float | None
    """Mean over captures labelled QUIC of QUIC's share of the bytes."""
    mixed: int
    """Captures with answers over another protocol than the one on their label."""
    fast_connects: int
    """Captures in which most new connections took less than the claimed round trip."""
    judged_for_delay: int
    """Captures with new connections and a claimed round trip above zero."""
    connects: tuple[Connects, ...]
    with_cached: int
    with_failed: int
    aborted: int
    nothing_to_judge: int
    """Captures without a complete answer from the network."""
    unbelievable: int
    """Captures with at least one finding."""
    unreadable_files: tuple[str, ...]
    """Files that could not be read, each with the reason."""


def judge(capture: CapturedPage, claims: Claims) -> AuditRow:
    loaded = capture.load_ms is not None
    size = capture.loaded_bytes() if loaded else None
    least = None if size is None or not claims.down_mbps else size * 8 / (claims.down_mbps * 1000)
    connects = [a.connect_ms for a in capture.answers if a.connect_ms is not None]
    middle = median(connects) if connects else None
    crossed = [a for a in capture.answers if not (a.cached or a.failed)]
    carried = [a for a in crossed if a.protocol]
    row = AuditRow(
        name=capture.name,
        title=capture.title,
        tool=capture.tool,
        claims=claims,
        load_ms=capture.load_ms,
        wire_bytes=size,
        least_load_ms=least,
        impossible=bool(capture.load_ms and least and capture.load_ms < least),
        judged=len(crossed),
        protocol_answers=dict(Counter(a.protocol for a in carried)),
        protocol_bytes=_bytes(carried),
        connect_min_ms=min(connects, default=None),
        connect_median_ms=middle,
        fast_connects=bool(middle is not None and claims.rtt_ms and middle < claims.rtt_ms),
        cached=sum(a.cached for a in capture.answers),
        failed=sum(a.failed for a in capture.answers),
        unread=capture.unread,
        aborted=not loaded,
    )
    return structs.replace(row, findings=tuple(_findings(row)))


def _findings(row: AuditRow) -> Iterator[str]:
    if not row.judged:
        yield "nothing to judge"
    if row.impossible and row.load_ms and row.least_load_ms:
        yield f"{row.least_load_ms / row.load_ms:.1f} times too fast"
    if (share := row.claimed_share) is not None and share < 1:
        yield f"{share:.0%} {row.claims.protocol}" if share else f"no {row.claims.protocol}"
    if row.fast_connects:
        yield f"connects in {row.connect_median_ms:.0f} ms"
    if row.cached:
        yield f"{row.cached} from a cache"
    if row.failed:
        yield f"{row.failed} failed"
    if row.unread:
        yield f"{row.unread} unreadable"
    if row.aborted:
        yield "no load event"


def summarise(rows: Sequence[AuditRow], unread: Sequence[str] = ()) -> AuditSummary:
    quic = [r for r in rows if r.claims.protocol == "quic" and r.protocol_answers]
    shares = [share for r in quic if (share := r.claimed_byte_share) is not None]
    return AuditSummary(
        captures=len(rows),
        impossible=sum(r.impossible for r in rows),
        judged_for_rate=sum(r.least_load_ms is not None for r in rows),
        quic_labelled=len(quic),
        pure_quic=sum(r.claimed_share == 1 for r in quic),
        no_quic=sum(r.claimed_share == 0 for r in quic),
        quic_share=_pooled([r.protocol_answers for r in quic]),
        quic_byte_share=_pooled([r.protocol_bytes for r in quic]),
        quic_byte_share_mean=sum(shares) / len(shares) if shares else None,
        mixed=sum((r.claimed_share or 0) < 1 for r in rows if r.claimed_share is not None),
        fast_connects=sum(r.fast_connects for r in rows),
        judged_for_delay=sum(bool(r.claims.rtt_ms and r.connect_median_ms) for r in rows),
        connects=tuple(_connects(rows)),
        with_cached=sum(bool(r.cached) for r in rows),
        with_failed=sum(bool(r.failed) for r in rows),
        aborted=sum(r.aborted for r in rows),
        nothing_to_judge=sum(not r.judged for r in rows),
        unbelievable=sum(bool(r.findings) for r in rows),
        unreadable_files=tuple(unread),
    )


def as_json(summary: AuditSummary, rows: Sequence[AuditRow]) -> dict[str, Any]:
    """Return the audit as a JSON object: the summary's fields, and the captures under ``rows``."""
    return {**msgspec.to_builtins(summary), "rows": msgspec.to_builtins(rows)}


def _pooled(counts: Sequence[dict[Family, int]]) -> float | None:
    whole = sum(sum(c.values()) for c in counts)
    return sum(c.get("quic", 0) for c in counts) / whole if whole else None


def _connects(rows: Sequence[AuditRow]) -> Iterator[Connects]:
    by_rtt: dict[float, list[float]] = {}
    for row in rows:
        if row.claims.rtt_ms is not None and row.connect_min_ms is not None:
            by_rtt.setdefault(row.claims.rtt_ms, []).append(row.connect_min_ms)
    for rtt_ms, fastest in sorted(by_rtt.items()):
        yield Connects(rtt_ms, len(fastest), median(fastest))


def _bytes(answers: Sequence[CapturedRequest]) -> dict[Family, int]:
    carried: Counter[Family] = Counter()
    for answer in answers:
        carried[answer.protocol] += answer.wire_bytes or 0
    return dict(carried)
