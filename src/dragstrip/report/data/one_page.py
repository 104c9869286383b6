"""A study's answer on one page: the answer, its conditions, and what may not be believed."""

from collections.abc import Iterator, Mapping, Sequence

import polars as pl
from msgspec import Struct

from dragstrip.model.addresses import told
from dragstrip.model.study import Study
from dragstrip.report.data.answer import CellAnswer, answer
from dragstrip.report.data.belief import Belief, belief
from dragstrip.report.data.beside import beside, surroundings
from dragstrip.report.data.cells import ReportCell, cells
from dragstrip.report.data.controls import judgement
from dragstrip.report.data.effect import effects
from dragstrip.report.data.lead_bars import LeadBar, lead_bars
from dragstrip.report.data.leaders import Lead, lead
from dragstrip.report.data.verdicts import unchecked
from dragstrip.results.compare.controls import controls
from dragstrip.results.manifest import Manifest

SPELLED_OUT = 3
"""Most cells whose answers are given in full. More are a table."""
ROWS = 20
"""Most rows of that table: the largest leads."""
LISTED = 4
"""Most pages, networks or stacks that are named one by one."""


class OnePageCell(Struct, frozen=True, kw_only=True):
    title: str
    answer: CellAnswer
    bars: Sequence[LeadBar]
    lead: Lead


class OnePage(Struct, frozen=True, kw_only=True):
    name: str
    cells: Sequence[OnePageCell]
    """Every cell, the largest lead first if there are more than `SPELLED_OUT`."""
    conditions: Sequence[tuple[str, str]]
    doubts: Sequence[str]
    """Sentences on what limits the answer."""

    @property
    def spelled_out(self) -> bool:
        return len(self.cells) <= SPELLED_OUT


def one_page(manifest: Manifest, table: pl.LazyFrame) -> OnePage:
    """Gather the page of a study. `table` is visits.parquet."""
    study = manifest.study
    found = [_cell(cell, study) for cell in cells(study, table, ("plt_ms",))]
    if len(found) > SPELLED_OUT:
        found.sort(key=lambda one: -one.lead.share)
    doubts = dict.fromkeys(_doubts(study, table, belief(study, table), found))
    return OnePage(
        name=study.name,
        cells=found,
        conditions=[pair for pair in _conditions(manifest) if pair[1]],
        doubts=[one for one in doubts if one],
    )


def _cell(cell: ReportCell, study: Study) -> OnePageCell:
    return OnePageCell(
        title=cell.title,
        answer=answer(cell, study.client.timeout_s),
        bars=lead_bars(cell, effects(cell)),
        lead=lead(cell),
    )


def _conditions(manifest: Manifest) -> Iterator[tuple[str, str]]:
    study, start = manifest.study, manifest.starts[-1]
    yield "Pages", _some({p.name: f"{len(p.resources)} resources" for p in study.pages})
    yield "Networks", _some({n.name: n.describe() for n in study.networks})
    yield "Stacks", _some({s.name: s.describe() for s in study.stacks})
    client = study.client
    view = f"{client.viewport[0]} x {client.viewport[1]}, a fresh context for each visit"
    slower = f", {client.cpu_slowdown:g} times slower" if client.cpu_slowdown > 1 else ""
    yield "Client", f"{start.browser_version}, {view}{slower}"
    yield "Visits", f"{study.runs} blocks per cell in shuffled order, seed {study.seed}"
    yield "Clock", study.clock.describe()
    yield "Servers", ", ".join(start.server_versions.values())
    machine = start.machine
    yield "Machine", f"{machine.cpu}, {machine.cores} cores, Linux {machine.kernel}"
    git = f", git {start.git}" if start.git else ""
    yield "Made", f"{start.started[:10]} by dragstrip {start.dragstrip_version}{git}"


def _some(named: Mapping[str, str]) -> str:
    parts = [f"{name}: {said}" for name, said in named.items()][:LISTED]
    more = [f"and {len(named) - LISTED} more"] if len(named) > LISTED else []
    return "; ".join([*parts, *more])


def _doubts(
    study: Study, table: pl.LazyFrame, found: Belief, told_of: Sequence[OnePageCell]
) -> Iterator[str]:
    if len(told_of) > SPELLED_OUT:
        yield "About one in twenty comparisons of equal stacks shows a difference by chance."
    if found.reasons:
        causes = ", ".join(f"{one.code} {one.visits}" for one in found.reasons)
        yield f"Visits that were invalid, by reason: {causes}."
    yield found.sentence
    yield found.machines
    yield from (f"{line[0].upper()}{line[1:]}." for line in judgement(controls(study, table), None))
    if gaps := unchecked(table):
        yield f"Not checked: {'; '.join(gaps)}."
    in_words = len(told_of) <= SPELLED_OUT  # the answers say what the stacks differ in
    yield from (surroundings if in_words else beside)(study.stacks)
    yield told(study.pages, study.addresses)
    yield (
        "The answer holds for these pages, networks and versions, and for this metric: the end of "
        "the page load."
    )
