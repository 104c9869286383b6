"""A guest that works, fails, dies or hangs; a script plays the guest."""

import pickle
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec import structs

import made
from dragstrip.browsers.errors import BrowserError
from dragstrip.execution.guest import run as runs
from dragstrip.execution.guest.session import guest_session, seed_of
from dragstrip.execution.orders import Visitor, VisitOrder
from dragstrip.model.clock import NETWORK
from dragstrip.model.errors import InputError
from dragstrip.model.study import Block
from dragstrip.model.visit import file_name
from dragstrip.testbed.errors import GuestEnded, TestbedError
from dragstrip.testbed.workspace import scratch_root

STUDY = structs.replace(made.study(runs=2), clock=NETWORK)
BLOCK, NEXT = STUDY.blocks()
PLAY = """#!{python}
import os, sys, time
sys.path[:0] = {path!r}
from pathlib import Path
import made
from made_session import LOAD
from dragstrip.execution.guest.job import ALIVE, ENDED, JOB, read, result_file, write
from dragstrip.testbed.errors import GuestEnded, TestbedError
folder = Path.cwd()
job = read(folder, JOB)
visits = [(block, stack) for block in job.blocks for stack in block.order]
def visit(number):
    block, stack = visits[number]
    seed = int(os.environ["DRAGSTRIP_SEED"])
    told = made.visit(made.STACKS[stack].protocol, block=block.id,
                      position=block.order.index(stack), attempt=job.attempt,
                      started_us=seed % 2**40 + number)
    if job.artefacts:
        packets = folder / "capsule" / "pcap" / (told.file_name + ".pcapng")
        packets.parent.mkdir(exist_ok=True)
        packets.write_text("anew")
    write(folder, result_file(number), (told, LOAD))
{play}
"""
WORKS = """
for number in range(len(visits)):
    visit(number)
write(folder, ENDED, None)
time.sleep(60)
"""


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Runs a script instead of the kernel."""

    def play(script: str) -> None:
        kernel = tmp_path / "linux"
        path = [path for path in sys.path if path]
        kernel.write_text(PLAY.format(python=sys.executable, path=path, play=script))
        kernel.chmod(0o755)
        monkeypatch.setattr(runs, "kernel", lambda: kernel)

    return play


@pytest.fixture
def nothing_left() -> Iterator[None]:
    before = set(scratch_root().glob("testbed-*"))
    yield
    assert set(scratch_root().glob("testbed-*")) <= before


def ordered(
    visit: Visitor, block: Block, attempt: int, *stacks: str, last: Block | None = None
) -> list[int]:
    """One number for the guest's seed and the visit's place among those that the guest made."""
    until = last.id if last else ""
    made_now = [
        visit(VisitOrder(block=block, attempt=attempt, stack=stack, last=until))[0]
        for stack in stacks
    ]
    assert [v.stack for v in made_now] == list(stacks)
    assert {v.block for v in made_now} == {block.id}
    return [v.started_us for v in made_now]


def made_by(seed: int, *places: int) -> list[int]:
    return [seed % 2**40 + place for place in places]


def packets(block: Block, stack: str) -> str:
    return f"pcap/{file_name(block.id, stack, 0)}.pcapng"


def kept(capsule: Path) -> dict[str, str]:
    """Contents of all files, by their paths."""
    files = [path for path in capsule.rglob("*") if path.is_file()]
    return {str(path.relative_to(capsule)): path.read_text() for path in files}


FIRST = seed_of(STUDY, BLOCK.id, 0)


def test_one_guest_makes_a_batch(played, nothing_left, tmp_path):
    played(WORKS)
    out = tmp_path / "capsule"
    out.mkdir()
    with guest_session(STUDY, out) as visit:
        assert ordered(visit, BLOCK, 0, *BLOCK.order, last=NEXT) == made_by(FIRST, 0, 1, 2)
        (tmp_path / "linux").unlink()  # no other guest can be started
        assert ordered(visit, NEXT, 0, *NEXT.order, last=NEXT) == made_by(FIRST, 3, 4, 5)
    assert kept(out) == {
        packets(block, stack): "anew" for block in (BLOCK, NEXT) for stack in block.order
    }


def test_a_block_that_is_attempted_again_has_its_own_guest(played, nothing_left):
    played(WORKS)
    again = seed_of(STUDY, NEXT.id, 1)
    with guest_session(STUDY) as visit:
        ordered(visit, BLOCK, 0, *BLOCK.order)
        assert ordered(visit, NEXT, 1, *NEXT.order) == made_by(again, 0, 1, 2)


def test_a_resumed_block_is_made_from_its_batchs_start_with_the_same_seed(played, nothing_left):
    played(WORKS)
    with guest_session(STUDY) as visit:
        assert ordered(visit, BLOCK, 0, *BLOCK.order[1:]) == made_by(FIRST, 1, 2)
        assert ordered(visit, NEXT, 0, *NEXT.order[2:]) == made_by(FIRST, 5)


def test_a_guest_makes_nothing_beyond_what_is_ordered(played, nothing_left, tmp_path):
    played(WORKS)
    out = tmp_path / "capsule"
    out.mkdir()
    with guest_session(STUDY, out) as visit:
        ordered(visit, BLOCK, 0, *BLOCK.order)
    assert kept(out) == {packets(BLOCK, stack): "anew" for stack in BLOCK.order}


def test_artefacts_of_visits_that_were_there_stay(played, nothing_left, tmp_path):
    played(WORKS)
    out = tmp_path / "capsule"
    before, first, _ = BLOCK.order
    there = out / packets(BLOCK, before)
    there.parent.mkdir(parents=True)
    there.write_text("of an earlier start")
    (out / packets(BLOCK, first)).write_text("cut off")
    with guest_session(STUDY, out) as visit:
        ordered(visit, BLOCK, 0, first)
    assert kept(out) == {
        packets(BLOCK, before): "of an earlier start",
        packets(BLOCK, first): "anew",
    }


def test_a_capsule_that_cannot_be_written_is_named(played, nothing_left, tmp_path):
    played(WORKS)
    (tmp_path / "capsule").mkdir()
    (tmp_path / "capsule" / "pcap").write_text("no folder")
    with (
        guest_session(STUDY, tmp_path / "capsule") as visit,
        pytest.raises(
            TestbedError, match=r"capsule/pcap/.*\.pcapng cannot be written: File exists"
        ),
    ):
        ordered(visit, BLOCK, 0, BLOCK.order[0])


def test_a_guest_that_dies_costs_its_blocks(played, nothing_left):
    played("visit(0)\nprint('Kernel panic')")
    with guest_session(STUDY) as visit:
        ordered(visit, BLOCK, 0, BLOCK.order[0])
        with pytest.raises(GuestEnded, match="the guest ended: Kernel panic"):
            ordered(visit, BLOCK, 0, BLOCK.order[1])
        ordered(visit, BLOCK, 0, BLOCK.order[0])


def test_what_goes_wrong_after_the_last_visit_costs_the_block(played, nothing_left):
    last = WORKS.replace("ENDED, None", "ENDED, TestbedError('the NetLog is missing')")
    played(last)
    with guest_session(STUDY) as visit, pytest.raises(TestbedError, match="NetLog is missing"):
        ordered(visit, BLOCK, 0, *BLOCK.order)


@pytest.mark.parametrize("error", [TestbedError, GuestEnded, BrowserError, InputError])
def test_what_went_wrong_inside_is_raised_outside(error, played, nothing_left, tmp_path):
    raised = tmp_path / "raised"
    raised.write_bytes(pickle.dumps(error("made up")))
    played(f"os.rename({str(raised)!r}, ENDED)\ntime.sleep(60)")
    with guest_session(STUDY) as visit, pytest.raises(error, match="made up"):
        ordered(visit, BLOCK, 0, BLOCK.order[0])


def test_time_that_stands_still_is_an_error_with_the_block_in_it(played, nothing_left):
    played("(folder / ALIVE).write_bytes(b'1')\nwhile True: pass")
    with (
        guest_session(STUDY, still_s=0.5) as visit,
        pytest.raises(TestbedError, match="stood still"),
    ):
        ordered(visit, BLOCK, 0, BLOCK.order[0])


def test_a_guest_that_gets_no_processor_may_take_its_time(played, nothing_left):
    played("(folder / ALIVE).write_bytes(b'1')\ntime.sleep(3)\n" + WORKS)
    with guest_session(STUDY, still_s=0.5) as visit:
        ordered(visit, BLOCK, 0, *BLOCK.order)


def test_a_guest_that_does_nothing_costs_its_block(played, nothing_left):
    played("(folder / ALIVE).write_bytes(b'1')\ntime.sleep(60)")
    # Python itself may compute for a while before it does nothing.
    with guest_session(STUDY, still_s=0.8) as visit, pytest.raises(GuestEnded, match="did nothing"):
        ordered(visit, BLOCK, 0, BLOCK.order[0])


def test_a_guest_that_waits_forever_costs_its_block(played, nothing_left):
    beats = "for beat in range(0, 40_000, 900):\n    (folder / ALIVE).write_text(str(beat))\n"
    played("visit(0)\nvisit(1)\n" + beats + "    time.sleep(0.05)\ntime.sleep(60)")
    with guest_session(STUDY) as visit, pytest.raises(GuestEnded, match="never happens: 6 hours"):
        ordered(visit, BLOCK, 0, *BLOCK.order)


def test_a_slow_guest_may_take_its_time(played, nothing_left):
    beats = "for beat in range(10):\n    (folder / ALIVE).write_text(str(beat))\n"
    played(beats + "    time.sleep(0.2)\n" + WORKS)
    began = time.monotonic()
    with guest_session(STUDY, still_s=1.0) as visit:
        ordered(visit, BLOCK, 0, BLOCK.order[0])
    assert time.monotonic() - began > 1.5


def test_a_seed_follows_from_study_block_and_attempt():
    other = structs.replace(STUDY, seed=2)
    seeds = {seed_of(s, b.id, a) for s in (STUDY, other) for b in (BLOCK, NEXT) for a in (0, 1)}
    assert len(seeds) == 8
    assert seed_of(STUDY, BLOCK.id, 0) == seed_of(STUDY, BLOCK.id, 0) < 2**63
