"""Makes a table of the whole study: which stack leads, by page (row) and network (column), for each
metric."""

from collections import Counter
from collections.abc import Sequence

from msgspec import Struct

from dragstrip.model.stack import ConnectionMode, Stack
from dragstrip.model.study import Study
from dragstrip.report.data.answer import CellAnswer
from dragstrip.report.data.cells import ReportCell
from dragstrip.report.data.lead_bars import LeadBar
from dragstrip.report.data.leaders import Lead, lead
from dragstrip.report.figures.palette import colour
from dragstrip.report.words.numbers import listed
from dragstrip.results.observed import BY_NAME
from dragstrip.visit.metric import Metric

RANKED = [m for m in BY_NAME.values() if m.better != "neither"]
"""Metrics that a stack can lead in, page load time first."""


class MatrixEntry(Struct, frozen=True, kw_only=True):
    """The part of a cell's result that other pages of the report need."""

    number: int
    """Number of the cell in the study, from 1."""
    page: str
    network: str
    connection: ConnectionMode
    where: str
    file: str
    """Path of the cell's page, from the report's folder."""
    answer: CellAnswer
    bars: list[LeadBar]
    leads: dict[str, Lead]
    """The stacks that lead the cell, by metric."""


class ResultShare(Struct, frozen=True):
    """A kind of result, and the number of cells that have it."""

    label: str
    cells: int
    colour: str
    """Colour of the result; empty for some results without a leader."""


def leads(cell: ReportCell) -> dict[str, Lead]:
    return {m.name: lead(cell, m.name) for m in RANKED}


def rows(
    study: Study, entries: Sequence[MatrixEntry]
) -> dict[tuple[str, ConnectionMode], list[MatrixEntry | None]]:
    """Return entries in the order of networks, by page and connection mode; None for cells that the
    study does not visit."""
    found = {(e.page, e.network, e.connection): e for e in entries}
    return {
        (p.name, connection): [found.get((p.name, n.name, connection)) for n in study.networks]
        for p in study.pages
        for connection in study.connections
    }


def dense(study: Study, entries: Sequence[MatrixEntry]) -> bool:
    """Return whether at least half of the table's fields have a cell. In a sampled study nearly
    none has: 500 cells with their own pages and networks would make a quarter of a million
    fields."""
    fields = len(study.pages) * len(study.networks) * len(study.connections)
    return fields <= 2 * len(entries)


def known(entries: Sequence[MatrixEntry]) -> list[Metric]:
    """Return the metrics for which some cell has an answer, and page load time."""
    return [
        m
        for m in RANKED
        if m.name == "plt_ms" or any(e.leads[m.name].kind != "none" for e in entries)
    ]


def shares(study: Study, entries: Sequence[MatrixEntry], metric: str) -> list[ResultShare]:
    """Count the results of the entries in a metric, as `shares_of` does."""
    return shares_of(study, [e.leads[metric] for e in entries])


def shares_of(study: Study, found: Sequence[Lead]) -> list[ResultShare]:
    """Count the cells for each sole leader, then those with ties, then those without a leader. Zero
    counts are left out."""
    alone = Counter(x.leaders[0] for x in found if x.kind == "lead")
    ties = Counter(listed(sorted(x.leaders)) for x in found if x.kind == "tie")
    rest = Counter(x.kind for x in found)
    rows = [ResultShare(f"{s.name} leads", alone[s.name], colour(s.protocol)) for s in study.stacks]
    rows += [ResultShare(f"{names} lead", count, "#8b8f98") for names, count in ties.most_common()]
    rows += [
        ResultShare("alike within 5 %", rest["alike"], "#d9dce2"),
        ResultShare("no difference shown", rest["open"], "#eceef1"),
        ResultShare("too few blocks", rest["too few"], ""),
        ResultShare("no answer", rest["none"], ""),
    ]
    return [row for row in rows if row.cells]


def tint(stack: Stack, found: Lead) -> str:
    """Mix the leader's colour with white: stronger for larger leads, but always light enough for
    dark text."""
    depth = 14 + 34 * min(found.share / 0.4, 1)
    return f"color-mix(in srgb, {colour(stack.protocol)} {depth:.0f}%, white)"
