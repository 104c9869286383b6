"""Draws the page of a visit: its verdict, evidence and metrics, next to those of its cell."""

import re
from collections.abc import Iterator

from markupsafe import Markup
from msgspec import Struct, structs

from dragstrip.model.errors import InputError
from dragstrip.model.network import Network
from dragstrip.model.reasons import REASONS, Meaning
from dragstrip.model.stack import MIXES
from dragstrip.model.study import Study
from dragstrip.model.visit import Reason, ReasonCode, Visit
from dragstrip.report.data.cells import ReportCell
from dragstrip.report.data.shown import ShownVisit
from dragstrip.report.figures.connections import ConnectionPicture, connection_pictures
from dragstrip.report.figures.waterfall import waterfall
from dragstrip.report.words.numbers import DASH, amount
from dragstrip.results.artefacts import Artefact, artefacts
from dragstrip.results.capsule import Capsule
from dragstrip.results.dissect import captured
from dragstrip.results.lookup import Lookup
from dragstrip.results.observed import metrics_of
from dragstrip.results.packets import NoTshark
from dragstrip.visit.carried import ConnectionLoad, carried
from dragstrip.visit.names import winners

CHARTED = ("typical", "asked for")
"""Kinds of visits whose packets are charted, see `ShownVisit.why`."""


class VisitPage(Struct, frozen=True, kw_only=True):
    """A visit with its own page."""

    visit: Visit
    why: str
    counts: bool
    file: str
    """File name of the visit's page."""
    waterfall: Markup | None
    """The visit's waterfall; None if the browser made no request."""
    readings: tuple[tuple[Reason, Meaning], ...]
    charts: tuple[ConnectionPicture, ...]
    """Charts of the visit's connections, from its packets."""
    uncharted: str
    """Why there are no charts although packets were kept; empty otherwise."""
    artefacts: tuple[Artefact, ...]
    connections: tuple[ConnectionLoad, ...]
    winners: str
    """The protocol of each host's first answer, if the browser had to discover HTTP/3."""
    metrics: tuple[tuple[str, str, str, str], ...]
    """Name, meaning and value of each metric, and the median of the visit's cell and stack."""

    @property
    def index(self) -> str:
        """Index of the visit's block within the cell."""
        return self.visit.block.rpartition("|")[2]


def draw(
    capsule: Capsule, cell: ReportCell, wanted: list[ShownVisit], lookup: Lookup, stem: str
) -> list[VisitPage]:
    """Draw the pages of these visits, with a common time axis. `stem` is the beginning of the
    pages' file names.

    No page is drawn if the capsule lacks its journal.
    """
    rows = {row["row"]: row for row in cell.seen.visits.iter_rows(named=True)} if wanted else {}
    study = capsule.manifest.study
    found = [
        (s, rows[s.row]["counts"], judged(lookup[s.row], rows[s.row]["reasons"]))
        for s in wanted
        if s.row < len(lookup)
    ]
    until_ms = max((_end_ms(v) for s, _, v in found if s.why == "typical"), default=0) * 1.02
    return [
        VisitPage(
            visit=visit,
            why=s.why,
            counts=counts,
            file=f"{stem}-{_plain(visit.block.rpartition('|')[2])}-{_plain(visit.stack)}-{visit.attempt}.html",
            waterfall=_waterfall(visit, until_ms, cell.network),
            charts=charts,
            uncharted=uncharted,
            readings=tuple((r, REASONS[r.code]) for r in visit.reasons),
            artefacts=tuple(artefacts(capsule.path, visit)),
            connections=tuple(carried(visit)),
            winners=_winners(study, visit),
            metrics=tuple(_metrics(study, cell, visit)),
        )
        for s, counts, visit in found
        for charts, uncharted in [_charts(capsule, visit, s.why)]
    ]


def _charts(capsule: Capsule, visit: Visit, why: str) -> tuple[tuple[ConnectionPicture, ...], str]:
    if not captured(capsule.path, visit):
        return (), ""
    if why not in CHARTED:
        return (
            (),
            f"Charts take seconds to draw; for them: `dragstrip report DIR --visit '{visit.id}'`.",
        )
    try:
        return tuple(connection_pictures(capsule, visit)), ""
    except (NoTshark, InputError) as error:
        return (), str(error)


def _plain(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "-", text)


def judged(visit: Visit, reasons: list[str]) -> Visit:
    """Return the visit with the reasons in the table, which also take the rest of the block into
    account."""
    pairs = (text.partition(": ") for text in reasons)
    told = tuple(Reason(_code(code), detail) for code, _, detail in pairs)
    return structs.replace(visit, reasons=told)


def _code(text: str) -> ReasonCode:
    code: ReasonCode = text  # type: ignore[assignment]
    return code


def _waterfall(visit: Visit, until_ms: float, network: Network) -> Markup | None:
    end_ms = max(until_ms, _end_ms(visit) * 1.02)
    return Markup(waterfall(visit, end_ms, network)) if visit.requests and end_ms > 0 else None


def _end_ms(visit: Visit) -> float:
    return max([visit.plt_ms or 0, *(r.end_ms or r.start_ms for r in visit.requests)])


def _winners(study: Study, visit: Visit) -> str:
    if not MIXES[study.stack(visit.stack).discovery]:
        return ""
    return ", ".join(f"{protocol} {host}" for host, protocol in winners(visit).items())


def _metrics(study: Study, cell: ReportCell, visit: Visit) -> Iterator[tuple[str, str, str, str]]:
    medians = {r.stack.name: r.medians for r in cell.results}.get(visit.stack, {})
    stack = study.stack(visit.stack)
    for name, metric in metrics_of(study).items():
        value = metric.measure(visit, cell.network, stack)
        if value is None:
            continue
        middle = medians.get(name)
        usual = amount(middle.value, metric.unit) if middle else DASH
        yield name, metric.meaning, amount(value, metric.unit), usual
