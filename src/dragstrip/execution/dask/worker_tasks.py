"""The tasks that a Dask worker carries out.

A task returns all visits of an attempt together, with their artefacts. If the worker dies before
the task ends, the whole attempt is lost.
"""

import atexit
import fcntl
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from distributed import get_worker
from distributed.utils import sync

from dragstrip.execution.dask import stored_pages
from dragstrip.execution.dask.open_sessions import OpenSessions
from dragstrip.execution.dask.setup import RESOURCE, Batch, NotOpen, OpenedWorker, Result, Setup
from dragstrip.model.calibration import Calibration
from dragstrip.model.errors import InputError
from dragstrip.results.aa_control import AAControl
from dragstrip.schedule.schedule import Attempt
from dragstrip.testbed.workspace import scratch_root

_studies: dict[str, OpenSessions] = {}


def open_study(setup: Setup) -> OpenedWorker:
    """Prepare for attempts if all pages are on this machine; otherwise return the digests of
    missing pages. Raises `TestbedError` if this machine lacks a program, and `InputError` if a file
    of the study is missing."""
    if setup.study.ca and not Path(setup.study.ca).exists():
        raise InputError(f"{setup.study.ca}: is not on this machine")
    fingerprint = setup.fingerprint(setup.study)
    study = stored_pages.relocated(setup.study)
    if isinstance(study, tuple):
        return OpenedWorker(fingerprint=fingerprint, lacks=study)
    if setup.token not in _studies:
        _studies[setup.token] = OpenSessions(setup, study, partial(close, setup.token))
    return OpenedWorker(fingerprint=fingerprint, slots=_slots(setup.most(study)))


def store_page(data: bytes, digest: str) -> bool:
    stored_pages.store(digest, data)
    return True


def calibrate(token: str) -> Calibration:
    """Calibrate this machine's link while none of its other workers measures. Raises
    `TestbedError`."""
    sessions = _known(token)
    assert sessions.setup.calibrate
    with _alone():
        return sessions.setup.calibrate(sessions.study)


def aa_control(token: str, seed: int) -> AAControl:
    """Make a round of this machine's A/A control while none of its other workers measures. Raises
    `TestbedError`."""
    sessions = _known(token)
    assert sessions.setup.aa_control
    with _alone():
        return sessions.setup.aa_control(sessions.study, seed)


def prepare(token: str, workers: int, pages: tuple[str, ...]) -> None:
    _known(token).prepare(workers, pages)


def make(token: str, key: str, restart: int | None, attempts: Sequence[Attempt]) -> Batch:
    """Make these attempts in the task `key`. If one fails, return the results of those before it;
    if the first fails, raise its error."""
    began = time.monotonic()
    sessions = _known(token)
    sessions.renew(restart)
    results: list[Result] = []
    for attempt in attempts:
        try:
            results.append(sessions.make(attempt, lambda: not _wanted(key)))
        except Exception:
            if not results:
                raise
            break
    return Batch(results=results, took_s=time.monotonic() - began)


def close(token: str) -> dict[str, bytes]:
    sessions = _studies.pop(token, None)
    return sessions.close() if sessions else {}


@atexit.register
def _close_all() -> None:
    """Close all sessions when the worker exits normally, so that no folder stays."""
    for token in list(_studies):
        close(token)


@contextmanager
def _alone() -> Iterator[None]:
    """Hold a lock, so that no other worker of this machine measures meanwhile."""
    scratch_root().mkdir(mode=0o711, exist_ok=True)
    with (scratch_root() / "calibrating.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _known(token: str) -> OpenSessions:
    if token not in _studies:
        raise NotOpen
    return _studies[token]


def _wanted(key: str) -> bool:
    task = get_worker().state.tasks.get(key)
    return task is not None and task.state == "executing"


def _slots(most: int) -> int:
    """Return how many attempts the worker has room for: the `RESOURCE` it was started with, or up
    to `most`. The number never exceeds its threads."""
    worker = get_worker()
    declared = worker.state.total_resources.get(RESOURCE)
    if declared is None:
        declared = min(worker.state.nthreads, most)
        sync(worker.loop, worker.set_resources, **{RESOURCE: declared})
    return int(min(declared, worker.state.nthreads))
