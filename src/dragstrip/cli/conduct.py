"""Runs a study into a capsule, shows progress, and ends with report, table or JSON."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from dragstrip.browsers.chromium import browser_version
from dragstrip.browsers.load import Load
from dragstrip.cli import exits
from dragstrip.cli.calibration import before_visits
from dragstrip.model.study import Study
from dragstrip.model.visit import Visit
from dragstrip.report.terminal import render
from dragstrip.results.blocks import trials
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare import compare
from dragstrip.results.manifest import Manifest, Start
from dragstrip.results.summary import summarise
from dragstrip.schedule.run import Schedule, run
from dragstrip.visit.frames import write_frames
from dragstrip.visit.har import har

ALLOWED_INVALID_BLOCKS = 0.05


def conduct(study: Study, out: Path, *, as_json: bool, calibrate: bool | None = None) -> int:
    """Run what `out` still lacks of `study`; returns the exit code. See `before_visits`.

    Raises `InputError` if `out` holds something else, `TestbedError` if nothing can run here.
    """
    browser = browser_version()
    start = Start.here(browser_version=browser, command=tuple(sys.argv))
    with Capsule.create(out, Manifest(study=study, starts=(start,))) as capsule:
        schedule = Schedule(study, capsule.visits())
        if schedule.visits_left():
            before_visits(study, capsule, calibrate)
        with _progress(schedule) as shown:

            def keep(visit: Visit, load: Load) -> None:
                _write_har(out, study, visit, load, browser)
                if load.frames:
                    write_frames(out / "frames" / f"{_file_name(visit)}.zip", load.frames)
                capsule.append(visit)
                shown(visit)

            run(schedule, keep, out)
        capsule.finish()
    return present(out, as_json=as_json)


def present(out: Path, *, as_json: bool) -> int:
    """Redraw tables and report of a capsule and print the answer; returns the exit code."""
    # Drawing and tables load slowly; wrong input must not wait for them.
    from dragstrip.report.html import build
    from dragstrip.results.tables import write

    capsule = Capsule.open(out)
    study = capsule.manifest.study
    visits = list(capsule.visits())
    write(out, visits)
    report = build(capsule, visits)
    comparisons = compare(study, visits)
    if as_json:
        summary = summarise(study.name, visits, comparisons)
        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(summary), indent=2) + b"\n")
    console = Console(stderr=True)
    console.print(render(study, visits))
    if gaps := dict.fromkeys(gap for v in visits for gap in v.unchecked):
        console.print(f"live: the verdict could not check {'; '.join(gaps)}", highlight=False)
    console.print(f"report: {report}", highlight=False)
    return _exit_code(study, visits)


def _exit_code(study: Study, visits: list[Visit]) -> int:
    blocks = trials(visits, [s.name for s in study.stacks])
    invalid = sum(not b.counts for b in blocks)
    return exits.STAYED_INVALID if invalid > ALLOWED_INVALID_BLOCKS * len(blocks) else exits.DONE


def _write_har(out: Path, study: Study, visit: Visit, load: Load, browser: str) -> None:
    folder = out / "har"
    folder.mkdir(exist_ok=True)
    archive = har(visit, load, study.page(visit.page).url, browser)
    (folder / f"{_file_name(visit)}.har").write_bytes(msgspec.json.encode(archive))


def _file_name(visit: Visit) -> str:
    return visit.id.replace("/", "_").replace("|", "-")


@contextmanager
def _progress(schedule: Schedule) -> Iterator["_Shown"]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("visits, left about"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        yield _Shown(bar, schedule)


class _Shown:
    """Counts visits; a block that must be rerun makes the total grow."""

    def __init__(self, bar: Progress, schedule: Schedule) -> None:
        self._bar = bar
        self._schedule = schedule
        made = schedule.visits_made()
        total = made + schedule.visits_left()
        self._task = bar.add_task("starting", total=total, completed=made)

    def __call__(self, visit: Visit) -> None:
        made = self._schedule.visits_made()
        took = f"{visit.plt_ms:.0f} ms" if visit.plt_ms is not None else visit.outcome
        verdict = "" if visit.valid else f" [red]{visit.verdict}[/red]"
        self._bar.update(
            self._task,
            completed=made,
            total=made + self._schedule.visits_left(),
            description=f"{visit.page} {visit.stack} {took}{verdict}",
        )
