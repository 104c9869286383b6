"""Runs a study into a capsule, shows progress, and ends with report, table or JSON."""

import sys
import time
from collections.abc import Collection
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs
from rich.console import Console

from dragstrip.browsers.load import Load
from dragstrip.browsers.registry import browser_version
from dragstrip.cli import exits, resume
from dragstrip.cli.clocks import admission_of, guest_of, place_of, prepare
from dragstrip.cli.progress import progress
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.beside import beside, surroundings
from dragstrip.results.artefacts import frames_file
from dragstrip.results.capsule import Capsule
from dragstrip.results.frames_cost import known
from dragstrip.results.manifest import Manifest, Start
from dragstrip.schedule.run import Schedule, run
from dragstrip.testbed.servers.packages import version_of
from dragstrip.visit.frames import write_frames
from dragstrip.visit.har import har

if TYPE_CHECKING:
    import polars as pl

ALLOWED_INVALID_BLOCKS = 0.05


def conduct(
    study: Study, out: Path, *, as_json: bool, calibrate: bool | None = None, jobs: int = 1
) -> int:
    """Run what `out` still lacks of `study` and present it; returns the exit code.

    Raises as `make_visits` does.
    """
    make_visits(study, out, calibrate=calibrate, jobs=jobs)
    return present(out, as_json=as_json)


class TimeUp(Exception):
    """The time for visits is over; what was made is safely in the capsule."""


def make_visits(
    study: Study,
    out: Path,
    *,
    calibrate: bool | None = None,
    jobs: int = 1,
    until: float = inf,
    frozen: str = "",
) -> None:
    """Run what `out` still lacks of `study`, at most `jobs` blocks at once. See `before_visits` for
    `calibrate`; `frozen` is kept with the start.

    Raises `InputError` if `out` holds something else, `TestbedError` if nothing can run here, and
    `TimeUp` after the first visit that ends later than `until` (`time.monotonic`).
    """
    versions = {stack.name: browser_version(stack.browser) for stack in study.visited}
    browsers = ", ".join(dict.fromkeys(versions.values()))
    start = Start.here(browser_version=browsers, command=tuple(sys.argv))
    start = structs.replace(start, server_versions=_versions(study), frozen=frozen)
    if guest := guest_of(study):
        start = structs.replace(start, guest=guest)
    if study.client.frames:
        start = structs.replace(start, frames_cost=known(start))
    resume.into(out)
    with Capsule.create(out, Manifest(study=study, starts=(start,))) as capsule:
        stop = None
        if study.stopping or study.slow:
            from dragstrip.results.stopping import stop_rule  # what estimates loads slowly

            stop = stop_rule(study)
        schedule = Schedule(study, capsule.made(), stop)
        admission = admission_of(study, jobs, capsule.made())
        if schedule.visits_left():
            prepare(study, capsule, calibrate)
        with progress(schedule, admission) as shown:

            def keep(visit: Visit, load: Load) -> None:
                _write_har(out, study, visit, load, versions[visit.stack])
                if load.frames:
                    write_frames(frames_file(out, visit), load.frames)
                capsule.append(visit)
                shown(visit)
                if time.monotonic() > until:
                    raise TimeUp

            place = place_of(study, out)
            run(schedule, keep, out, admission=admission, place=place)
        capsule.finish()


def _versions(study: Study) -> dict[str, str]:
    """Of the servers that are not ours."""
    found = {s.server: version_of(s.serving) for s in study.visited}
    return {name: version for name, version in found.items() if version}


def present(out: Path, *, as_json: bool, also: Collection[str] = ()) -> int:
    """Redraw tables and report of a capsule and print the answer; returns the exit code.

    Visits whose ids are in `also` get a page of their own.
    """
    # Drawing and tables load slowly; wrong input must not wait for them.
    from dragstrip.cli.captures import read_captures
    from dragstrip.report.belief import belief
    from dragstrip.report.cells import cells
    from dragstrip.report.controls import judgement
    from dragstrip.report.terminal import METRICS, SPELLED_OUT, render
    from dragstrip.report.verdicts import unchecked
    from dragstrip.results.compare import compare_all, spreads
    from dragstrip.results.controls import controls
    from dragstrip.results.stopping import saving
    from dragstrip.results.summary import summarise
    from dragstrip.results.tables import scan

    capsule = Capsule.open(out)
    study = capsule.manifest.study
    if study.client.pcap:
        read_captures(out, list(capsule.visits()))
    report = redraw(capsule, also)
    table = scan(capsule, "visits")
    control, saved = controls(study, table), saving(study, table)
    if as_json:
        comparisons = compare_all(study, table)
        summary = summarise(
            study.name,
            list(capsule.visits()),
            comparisons,
            control,
            saved,
            spreads(study, table),
            clock=study.clock.kind,
        )
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    found = list(cells(study, table, METRICS))
    console = Console(stderr=True)
    console.print(render(study, found, belief(study, table)))
    for sentence in judgement(control, saved):
        console.print(sentence, highlight=False, markup=False)
    if gaps := unchecked(table):
        console.print(f"the verdict could not check {'; '.join(gaps)}", highlight=False)
    in_words = len(found) <= SPELLED_OUT  # the answers say what the stacks differ in
    for said in (surroundings if in_words else beside)(study.stacks):
        console.print(said, highlight=False)
    console.print(f"report: {report}", highlight=False)
    if races := list(report.parent.glob("race-*.webp")):
        more = f" and {len(races) - 1} more beside it" if len(races) > 1 else ""
        console.print(f"race picture: {min(races)}{more}", highlight=False)
    return exit_code(study, table)


def redraw(capsule: Capsule, also: Collection[str] = ()) -> Path:
    """Bring tables and report up to date; returns the report's first page. See `present`."""
    # Drawing and tables load slowly; wrong input must not wait for them.
    from dragstrip.report.site import build

    return build(capsule, also)


def exit_code(study: Study, table: "pl.LazyFrame") -> int:
    """For a study of which everything was visited; `table` is its visits.parquet."""
    from dragstrip.results.observed import observed

    blocks = [(cell.begun, cell.counted) for cell in observed(study, table)]
    begun, counted = sum(b for b, _ in blocks), sum(c for _, c in blocks)
    lost = begun - counted
    return exits.STAYED_INVALID if lost > ALLOWED_INVALID_BLOCKS * begun else exits.DONE


def _write_har(out: Path, study: Study, visit: Visit, load: Load, browser: str) -> None:
    folder = out / "har"
    folder.mkdir(exist_ok=True)
    archive = har(visit, load, study.page(visit.page).url, browser)
    (folder / f"{visit.file_name}.har").write_bytes(msgspec.json.encode(archive))
