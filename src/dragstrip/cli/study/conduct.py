"""Runs a study on the command line: shows progress, and ends with report, table or JSON."""

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from rich.console import Console

from dragstrip.cli import exits
from dragstrip.cli.study import resume
from dragstrip.cli.study.progress import TERMINAL
from dragstrip.cli.study.watch import beside as beside_run
from dragstrip.conduct.watcher import Watcher
from dragstrip.model.addresses import told
from dragstrip.model.study import Study
from dragstrip.report.data.beside import beside, surroundings
from dragstrip.results.capsule import JOURNAL, Capsule

if TYPE_CHECKING:
    import polars as pl


@contextmanager
def shown(out: Path, *, watch: bool = False) -> Iterator[Watcher]:
    """Show the progress of visits that go into `out`: a progress bar, and with `watch` a live page.
    An interrupted command prints how to resume.

    >>> with shown(out) as watcher:
    ...     make_visits(study, out, watcher=watcher)
    """
    resume.remember(out)
    with beside_run(out) if watch else nullcontext():
        yield TERMINAL


def present(out: Path, *, as_json: bool, also: Collection[str] = ()) -> int:
    """Redraw tables and report of a capsule and print the answer; return the exit code.

    Visits whose ids are in `also` get a separate page.
    """
    # Drawing and tables load slowly; wrong input must not wait for them.
    from dragstrip.cli.results.captures import read_captures
    from dragstrip.report.data.belief import belief
    from dragstrip.report.data.cells import cells
    from dragstrip.report.data.controls import judgement
    from dragstrip.report.data.coverage import coverage
    from dragstrip.report.data.verdicts import unchecked
    from dragstrip.report.data.ways import ways
    from dragstrip.report.terminal.answer import CELL_METRICS, SPELLED_OUT, render
    from dragstrip.results.compare.controls import controls
    from dragstrip.results.compare.stacks import compare_all, spreads
    from dragstrip.results.compare.stopping import saving
    from dragstrip.results.compare.summary import summarise
    from dragstrip.results.lookup import Lookup
    from dragstrip.results.observed import asked_metrics
    from dragstrip.results.tables.build import scan

    capsule = Capsule.open(out)
    study = capsule.manifest.study
    if study.client.pcap:
        read_captures(out, capsule.visits())
    report = redraw(capsule, also)
    table = scan(capsule, "visits")
    control, saved = controls(study, table), saving(study, table)
    if as_json:
        comparisons = compare_all(study, table)
        summary = summarise(
            study.name,
            capsule.visits(),
            comparisons,
            control,
            saved,
            spreads(study, table),
            clock=study.clock.kind,
            client="loader" if study.predicted else "browser",
            pages=study.pages,
            addresses=study.addresses,
        )
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    results = list(cells(study, table, (*CELL_METRICS, *(m.name for m in asked_metrics(study)))))
    console = Console(stderr=True)
    console.print(render(study, results, belief(study, table)))
    for sentence in judgement(control, saved):
        console.print(sentence, highlight=False, markup=False)
    if gaps := unchecked(table):
        console.print(f"the verdict could not check {'; '.join(gaps)}", highlight=False)
    if said := told(study.pages, study.addresses):
        console.print(said, highlight=False)
    in_words = len(results) <= SPELLED_OUT  # the answers name the differences between stacks
    for said in (surroundings if in_words else beside)(study.stacks):
        console.print(said, highlight=False)
    tables = {name: scan(capsule, name) for name in ("visits", "requests", "served")}
    said_of_pages = coverage(study, tables, Lookup(out / JOURNAL))
    for sentence in (*ways(study, tables["requests"]), *said_of_pages):
        console.print(sentence, highlight=False, markup=False)
    console.print(f"report: {report}", highlight=False)
    if races := list(report.parent.glob("race-*.webp")):
        more = f" and {len(races) - 1} more in that folder" if len(races) > 1 else ""
        console.print(f"race picture: {min(races)}{more}", highlight=False)
    return exit_code(study, table)


def redraw(capsule: Capsule, also: Collection[str] = ()) -> Path:
    """Update tables and report; return the report's first page. See `present`."""
    # Drawing and tables load slowly; wrong input must not wait for them.
    from dragstrip.report.site.site import build

    return build(capsule, also)


def exit_code(study: Study, table: "pl.LazyFrame") -> int:
    """Return the exit code of a finished study; `table` is its visits.parquet."""
    from dragstrip.results.observed import ALLOWED_INVALID_BLOCKS, observed

    blocks = [(cell.begun, cell.counted) for cell in observed(study, table)]
    begun, counted = sum(b for b, _ in blocks), sum(c for _, c in blocks)
    lost = begun - counted
    return exits.STAYED_INVALID if lost > ALLOWED_INVALID_BLOCKS * begun else exits.DONE
