"""Races in virtual time, in real guests: exact, unprivileged, and gone when they are done."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dragstrip.conduct.options import RunOptions
from dragstrip.conduct.visits import make_visits
from dragstrip.execution.by_clock import checked
from dragstrip.execution.guest.session import guest_session
from dragstrip.execution.orders import VisitOrder
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.pages.resolve import resolve
from dragstrip.results.capsule import Capsule
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.testbed.errors import TestbedError
from made_replays import LOSSY, busy, digests, guests


def study(cache: Path, runs: int = 1, client: Client | None = None, **more: object) -> Study:
    return StudySpec(
        name="virtual",
        pages=["synth:12x8KB"],
        networks=[find_network(LOSSY)],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=runs,
        seed=3,
        client=client or Client(),
        clock=NETWORK,
        **more,
    ).resolve(cache)


def visits(out: Path) -> list[Visit]:
    return list(Capsule.open(out).visits())


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    yield
    deadline = time.monotonic() + 10
    while guests() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not guests()


def test_a_block_is_the_same_to_the_byte_on_an_idle_and_on_a_busy_machine(tmp_path):
    of = study(tmp_path, client=Client(pcap=True))
    seen = []
    for loops in (0, 3):
        out = tmp_path / f"beside-{loops}"
        with busy(loops):
            make_visits(of, out)
        seen.append(digests(out))
    assert len(seen[0]) == 3
    assert seen[0] == seen[1]
    for visit in visits(out):
        assert visit.valid, visit.reasons
        assert visit.clock == "network"


def test_blocks_have_luck_of_their_own(tmp_path):
    of = study(tmp_path, runs=4)  # a batch of three and one of one
    make_visits(of, tmp_path / "c", RunOptions(jobs=2))
    made = visits(tmp_path / "c")
    assert all(v.valid for v in made), [v.reasons for v in made]
    assert len({v.plt_ms for v in made}) == 8
    # A shard of a study has the bytes that the whole has.
    make_visits(of, tmp_path / "shard", RunOptions(jobs=1, shard="2/2"))
    [block] = {v.block for v in visits(tmp_path / "shard")}
    assert visits(tmp_path / "shard") == [v for v in made if v.block == block]


def test_a_page_is_held_against_its_recording_in_a_guest(tmp_path):
    page = resolve("demo", tmp_path)
    once, again = (list(checked(page, virtual=True)) for _ in range(2))
    assert [c.protocol for c in once] == ["h1", "h2", "h3"]
    assert {c.outcome for c in once} == {"loaded"}
    assert all(c.fidelity.asked == c.fidelity.recorded == len(page.resources) for c in once)
    assert all(c.screenshot.startswith(b"\x89PNG") for c in once)
    assert once == again


def test_frames_and_repeat_visits_work_in_a_guest(tmp_path):
    of = study(tmp_path, client=Client(frames=True), connections=["first", "repeat"])
    make_visits(of, tmp_path / "c", RunOptions(jobs=2))
    made = visits(tmp_path / "c")
    assert {(v.stack, v.connection) for v in made} == {
        (stack, mode) for stack in ("h2", "h3") for mode in ("first", "repeat")
    }
    for visit in made:
        assert visit.valid, visit.reasons
        assert visit.visual
        assert visit.visual.speed_index_ms


def test_a_guest_that_is_killed_costs_its_block_alone(tmp_path):
    of = study(tmp_path)
    block = next(of.blocks())
    with guest_session(of) as visit:
        first, _ = visit(VisitOrder(block=block, attempt=0, stack=block.order[0]))
        for pid in guests():
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(Exception, match="the guest ended"):
            visit(VisitOrder(block=block, attempt=0, stack=block.order[1]))
    with guest_session(of) as visit:
        again, _ = visit(VisitOrder(block=block, attempt=0, stack=block.order[0]))
    assert again == first


def test_a_page_that_computes_forever_ends_in_an_error(tmp_path):
    html = "<!doctype html><title>spin</title><script>for (;;);</script>"
    answer = Recorded(
        url="https://spin.test/",
        status=200,
        headers=(("content-type", "text/html"),),
        wire=html.encode(),
    )
    path = tmp_path / "spin.har.zip"
    recording = Recording(name="spin", url=answer.url, source="a test", answers=(answer,))
    write_page(path, recording)
    of = StudySpec(
        name="virtual",
        pages=[str(path)],
        networks=[find_network(LOSSY)],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=1,
        seed=1,
        client=Client(),
        clock=NETWORK,
    ).resolve(tmp_path)
    block = next(of.blocks())
    with guest_session(of, still_s=8) as visit, pytest.raises(TestbedError, match="stood still"):
        visit(VisitOrder(block=block, attempt=0, stack=block.order[0]))
