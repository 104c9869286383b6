"""Sentences on metrics whose loads fall into two groups."""

from collections.abc import Iterator

from dragstrip.report.data.cells import ReportCell
from dragstrip.report.words.numbers import counted, duration, listed
from dragstrip.stats.modes import Mode, modes

_LOOKED_AT = {
    "plt_ms": "Page load",
    "fcp_ms": "FCP",
    "lcp_ms": "LCP",
    "speed_index_ms": "SpeedIndex",
}
"""Metrics and their names at the start of a sentence."""


def said_modes(cell: ReportCell) -> str:
    """A sentence on each metric with two modes, and a warning about its median; empty if none has
    two."""
    sentences = list(_sentences(cell))
    if not sentences:
        return ""
    return " ".join(sentences) + (
        " The median of such a metric says which group is larger: a ratio of two medians can jump "
        "where nothing changed."
    )


def _sentences(cell: ReportCell) -> Iterator[str]:
    for metric in (m for m in _LOOKED_AT if m in cell.seen.metrics):
        found = {r.stack.name: _modes(cell, r.stack.name, metric) for r in cell.results}
        said = [f"{_said(pair)} over {stack}" for stack, pair in found.items() if pair]
        if said:
            yield f"{_LOOKED_AT[metric]} has two modes: {listed(said)}."


def _modes(cell: ReportCell, stack: str, metric: str) -> tuple[Mode, Mode] | None:
    seen = cell.seen.of(stack, metric)
    return modes(seen.values[~seen.censored & (seen.values > 0)].tolist())


def _said(pair: tuple[Mode, Mode]) -> str:
    return listed([f"{duration(m.value)} in {counted(m.count, 'load')}" for m in pair])
