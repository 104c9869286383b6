"""Shows the progress of a study: a bar on a terminal, otherwise one line per minute."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from dragstrip.cli.machine.calibration import before_visits
from dragstrip.cli.study.dry_run import span
from dragstrip.conduct.watcher import TimeEstimate, Watcher
from dragstrip.model.visit import Visit
from dragstrip.schedule.schedule import Schedule

LINE_EVERY_S = 60.0


@contextmanager
def progress(schedule: Schedule, estimate: TimeEstimate) -> Iterator[Callable[[Visit], None]]:
    """Yield a function to call with each visit."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(schedule, estimate)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("visits, left about {task.fields[left]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        yield _Bar(bar, schedule, estimate)


def said(sentence: str) -> None:
    """Print news of a cluster's machines above the bar."""
    Console(stderr=True).print(sentence, highlight=False, markup=False)


TERMINAL = Watcher(calibrating=before_visits, said=said, progress=progress)
"""Watcher that reports to the terminal."""


class _Bar:
    """Counts visits. A block that needs a rerun raises the total."""

    def __init__(self, bar: Progress, schedule: Schedule, estimate: TimeEstimate) -> None:
        self._bar = bar
        self._schedule = schedule
        self._estimate = estimate
        made, total, left = _standing(schedule, estimate)
        self._task = bar.add_task("starting", total=total, completed=made, left=left)

    def __call__(self, visit: Visit) -> None:
        made, total, left = _standing(self._schedule, self._estimate)
        took = (
            f"{visit.plt_ms:.0f} ms"
            if visit.outcome == "loaded" and visit.plt_ms
            else visit.outcome
        )
        verdict = "" if visit.valid else f" [red]{visit.verdict}[/red]"
        self._bar.update(
            self._task,
            completed=made,
            total=total,
            description=f"{visit.page} {visit.stack} {took}{verdict}",
            left=left,
        )


class _Lines:
    """Prints progress for log files: at most one line every `LINE_EVERY_S`."""

    def __init__(self, schedule: Schedule, estimate: TimeEstimate) -> None:
        self._schedule = schedule
        self._estimate = estimate
        self._told = time.monotonic()
        self._made = self._invalid = 0

    def __call__(self, visit: Visit) -> None:
        self._made += 1
        self._invalid += not visit.valid
        if time.monotonic() < self._told + LINE_EVERY_S:
            return
        self._told = time.monotonic()
        made, total, left = _standing(self._schedule, self._estimate)
        sys.stderr.write(
            f"{made} of {total} visits, left about {left}; "
            f"{self._invalid} of {self._made} new visits are invalid\n"
        )


def _standing(schedule: Schedule, estimate: TimeEstimate) -> tuple[int, int, str]:
    """Return visits made, visits in total, and the time left in words."""
    made = schedule.visits_made()
    return made, made + schedule.visits_left(), span(estimate(schedule.left))
