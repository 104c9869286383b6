"""What depends on a study's clock: where its visits are made, and what admits its blocks."""

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from dragstrip.model.browsers import TODAY
from dragstrip.model.clock import COMPUTING, NETWORK, Clock
from dragstrip.model.page import Page
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.schedule.admission import Admission, Admits
from dragstrip.schedule.place import in_testbed
from dragstrip.schedule.worker import VisitPlace
from dragstrip.virtual.admission import Guests
from dragstrip.virtual.errand import errand
from dragstrip.virtual.job import CheckJob
from dragstrip.virtual.kernel.recipe import kernel, name_of
from dragstrip.virtual.place import in_guest

if TYPE_CHECKING:
    from dragstrip.verdict.page_check import Check


def timed(study: Study, clock: Clock) -> Study:
    """The study by the clock requested. Real time leaves the study its own clock, and
    virtual time one in which computing counts."""
    if clock == COMPUTING or (clock.virtual and not study.clock.virtual):
        return structs.replace(study, clock=clock)
    return study


def admission_of(
    study: Study, jobs: int, visits: Iterable[Visit], cores: int | None = None
) -> Admits:
    """For a machine with this many cores (default: this machine)."""
    if study.clock.virtual:
        return Guests(study, jobs)
    return Admission(study, jobs, visits, cores=cores)


def place_of(study: Study, artefacts: Path, rehearsed: Collection[str] = ()) -> VisitPlace:
    """Where its visits are made: a testbed with these pages rehearsed, or guests."""
    if study.clock.virtual:
        return partial(in_guest, study, artefacts)
    return partial(in_testbed, study, artefacts, rehearsed)


def guest_of(study: Study) -> str:
    """The kernel of its guests, by name; empty in real time. Raises `TestbedError` if there is
    none."""
    return name_of(kernel()) if study.clock.virtual else ""


def checked(page: Page, *, virtual: bool, browser: str = TODAY) -> "Iterator[Check]":
    """Replays the page in this browser and compares it with its recording. Raises `TestbedError`,
    `BrowserError`."""
    if virtual:
        with errand(CheckJob(page=page, client=Client(), browser=browser), NETWORK, seed=0) as sent:
            yield from sent.results()
        return
    from dragstrip.verdict.page_check import check  # with Pillow and NumPy, which import slowly

    yield from check(page, Client(), browser=browser)
