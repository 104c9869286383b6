"""A worker opens its session by itself, again if need be, and says when it is open."""

import contextlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

import made
from dragstrip.browsers.errors import BrowserError
from dragstrip.execution.orders import MadeVisit, SessionFactory, Visitor, VisitOrder
from dragstrip.execution.worker import Worker, WorkerProcess
from dragstrip.schedule.schedule import Attempt
from dragstrip.testbed.errors import ProgramEnded, TestbedError
from made_session import made_session

ORDER = VisitOrder(block=next(iter(made.study(runs=1).blocks())), attempt=0, stack="h2")


@contextlib.contextmanager
def fragile(tries: Path, breaks: int) -> Iterator[Visitor]:
    """A session that breaks this many times before it is open."""
    tries.write_text(tries.read_text() + "x")
    if len(tries.read_text()) <= breaks:
        raise BrowserError("made up")
    with made_session() as visit:
        yield visit


@contextlib.contextmanager
def fragile_inside(error: Exception) -> Iterator[Visitor]:
    def visit(order: VisitOrder) -> MadeVisit:
        raise error

    yield visit


@contextlib.contextmanager
def ends_at_first(tries: Path, breaks: int) -> Iterator[Visitor]:
    """A session whose link ends during the first `breaks` visits."""
    with made_session() as visit:

        def visited(order: VisitOrder) -> MadeVisit:
            tries.write_text(tries.read_text() + "x")
            if len(tries.read_text()) <= breaks:
                raise ProgramEnded("dragstrip-link ended before 'stats': a bug")
            return visit(order)

        yield visited


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Callable[[SessionFactory], WorkerProcess]]:
    workers = []

    def start(session: SessionFactory) -> WorkerProcess:
        workers.append(WorkerProcess(session))
        return workers[-1]

    yield start
    for worker in workers:
        worker.end()
        worker.wait()


@pytest.fixture
def tries(tmp_path: Path) -> Path:
    path = tmp_path / "tries"
    path.write_text("")
    return path


def test_a_session_that_broke_is_opened_again_and_the_visit_is_made_once(started, tries):
    worker = started(partial(fragile, tries, 2))
    worker.order(ORDER)
    assert worker.answer() is None
    answer = worker.answer()
    assert answer
    assert answer[0].block == ORDER.block.id
    assert not worker.connection.poll(0.2)


def test_a_session_that_never_opens_is_an_error_of_the_testbed(started, tries):
    worker = started(partial(fragile, tries, 99))
    with pytest.raises(TestbedError, match="broke 3 times before its first visit: made up"):
        worker.answer()
    assert tries.read_text() == "xxx"


@pytest.mark.parametrize("error", [BrowserError("made up"), ProgramEnded("made up")])
def test_a_visit_that_broke_is_reported_and_the_next_session_is_open(started, error):
    worker = started(partial(fragile_inside, error))
    assert worker.answer() is None
    for _ in range(4):  # however often
        worker.order(ORDER)
        with pytest.raises(type(error)):
            worker.answer()
        assert worker.answer() is None


@pytest.mark.parametrize("breaks", [2, 3])
def test_a_link_that_ends_costs_a_visit_a_new_testbed_and_three_end_the_run(tries, breaks):
    worker = Worker(partial(ends_at_first, tries, breaks))
    study = made.study(runs=1)
    block = next(iter(study.blocks()))
    worker.begin(Attempt(block=block, attempt=0, stacks=("h2",)))
    try:
        if breaks == 3:
            with pytest.raises(ProgramEnded, match="testbed broke 3 times: dragstrip-link ended"):
                answered(worker)
        else:
            assert answered(worker)[0].stack == "h2"
    finally:
        worker.end()
        worker.wait()


def answered(worker: Worker) -> MadeVisit:
    while not (made := worker.answer()):
        pass
    return made
