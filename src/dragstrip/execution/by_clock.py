"""Chooses the session that makes a study's visits, and how many blocks run in parallel. Both depend
on the study's clock."""

from collections.abc import Collection, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dragstrip.execution.concurrency import Concurrency, RealTimeConcurrency
from dragstrip.execution.guest.concurrency import GuestConcurrency
from dragstrip.execution.guest.job import CheckJob
from dragstrip.execution.guest.run import guest_run
from dragstrip.execution.guest.session import guest_session
from dragstrip.execution.orders import SessionFactory
from dragstrip.execution.session import visit_session
from dragstrip.model.browsers import TODAY
from dragstrip.model.clock import NETWORK
from dragstrip.model.page import Page
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit

if TYPE_CHECKING:
    from dragstrip.verdict.page_check import Check


def concurrency_of(
    study: Study, jobs: int, visits: Iterable[Visit], cores: int | None = None
) -> Concurrency:
    """Return the rule that says how many blocks of the study run in parallel on a machine with this
    many cores (default: this machine's)."""
    if study.clock.virtual:
        return GuestConcurrency(study, jobs)
    return RealTimeConcurrency(study, jobs, visits, cores=cores)


def session_of(
    study: Study, artefacts: Path | None, rehearsed: Collection[str] = ()
) -> SessionFactory:
    """Return a function that opens the session for the study's visits. In real time that is a
    testbed, which first rehearses the pages of `rehearsed`; in virtual time it is guests."""
    if study.clock.virtual:
        return partial(guest_session, study, artefacts)
    return partial(visit_session, study, artefacts, rehearsed)


def checked(page: Page, *, virtual: bool, browser: str = TODAY) -> "Iterator[Check]":
    """Replay the page in this browser and compare it with its recording. Raises `TestbedError`,
    `BrowserError`."""
    if virtual:
        job = CheckJob(page=page, client=Client(), browser=browser)
        with guest_run(job, NETWORK, seed=0) as running:
            yield from running.results()
        return
    from dragstrip.verdict.page_check import check  # imports Pillow and NumPy, which import slowly

    yield from check(page, Client(), browser=browser)
