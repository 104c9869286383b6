"""Describes an audit in sentences, for terminal and HTML alike."""

from dragstrip.audit.judge import AuditSummary
from dragstrip.report.words.numbers import counted, listed, percent


def sentences(summary: AuditSummary) -> list[str]:
    """Return one sentence per rule. Rules that no capture allows to judge are left out."""
    n = summary.captures
    found = [f"Something speaks against {summary.unbelievable} of {counted(n, 'capture')}."]
    if summary.nothing_to_judge:
        found.append(
            f"{summary.nothing_to_judge} of {n} hold nothing to judge: no answer that crossed the "
            "network."
        )
    if summary.judged_for_rate:
        found.append(
            f"{summary.impossible} of {summary.judged_for_rate} loaded faster than their bytes "
            "can cross a link of the claimed rate."
        )
    if summary.quic_labelled and summary.quic_share is not None:
        found.append(
            f"{summary.pure_quic} of {summary.quic_labelled} captures labelled QUIC were all QUIC, "
            f"and {summary.no_quic} had none: {percent(summary.quic_share)} of their answers and "
            f"{percent(summary.quic_byte_share or 0)} of their bytes came over QUIC (mean of each "
            f"capture's share of bytes: {percent(summary.quic_byte_share_mean or 0)})."
        )
    if summary.judged_for_delay:
        medians = [
            f"{c.connect_ms:.1f} ms where {c.rtt_ms:g} ms of round trip are claimed"
            for c in summary.connects
        ]
        found.append(
            f"{summary.fast_connects} of {summary.judged_for_delay} connected in less than one "
            f"claimed round trip. The fastest connect takes {listed(medians)} (medians)."
        )
    for count, what in (
        (summary.with_cached, "have answers from a cache"),
        (summary.with_failed, "have requests that failed"),
        (summary.aborted, "have no load event: the load was aborted, or its tool wrote none"),
    ):
        if count:
            found.append(f"{count} of {n} {what}.")
    if summary.unreadable_files:
        found.append(
            f"{counted(len(summary.unreadable_files), 'file')} could not be read and judged."
        )
    return found
