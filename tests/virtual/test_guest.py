"""Races in virtual time, in real guests: exact, unprivileged, and gone when they are done."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import gettempdir

import pytest

from dragstrip.conduct.clocks import checked
from dragstrip.conduct.shard import Shard
from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import NETWORK
from dragstrip.model.study import Client, Study
from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
from dragstrip.pages.resolve import resolve
from dragstrip.results.capsule import JOURNAL, Capsule
from dragstrip.schedule.worker import VisitOrder
from dragstrip.study.file import make_study
from dragstrip.study.presets import find_network, find_stack
from dragstrip.testbed.errors import TestbedError
from dragstrip.testbed.workspace import scratch_root
from dragstrip.virtual.kernel.recipe import kernel
from dragstrip.virtual.place import in_guest
from made_replays import busy, digests
from nobody import AS_NOBODY, NOBODY

LOSSY = "10mbit/2mbit/20ms/2%/100ms"
MAIN = "from dragstrip.cli import main; main()"
RACE = f"race synth:12x8KB --virtual --network {LOSSY} --stack h2 --stack h3 --json".split()


def study(cache: Path, runs: int = 1, client: Client | None = None, **more: object) -> Study:
    return make_study(
        name="virtual",
        pages=["synth:12x8KB"],
        networks=[find_network(LOSSY)],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=runs,
        seed=3,
        client=client or Client(),
        clock=NETWORK,
        cache=cache,
        **more,
    )


def visits(out: Path) -> list[Visit]:
    return list(Capsule.open(out).visits())


def guests() -> list[int]:
    """Processes that run the guests' kernel in this worker's temporary folder, of any user."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            here = (process / "cwd").readlink().is_relative_to(gettempdir())
            if here and (process / "exe").readlink() == kernel():
                found.append(int(process.name))
        except OSError:
            continue
    return found


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
    for number in range(3):
        out = tmp_path / f"replay-{number}"
        with busy(3 * (number == 2)):
            make_visits(of, out)
        seen.append(digests(out))
    assert len(seen[0]) == 3
    assert seen == [seen[0]] * 3
    for visit in visits(out):
        assert visit.valid, visit.reasons
        assert visit.clock == "network"


def test_blocks_have_luck_of_their_own(tmp_path):
    of = study(tmp_path, runs=4)  # a batch of three and one of one
    make_visits(of, tmp_path / "c", jobs=2)
    made = visits(tmp_path / "c")
    assert all(v.valid for v in made), [v.reasons for v in made]
    assert len({v.plt_ms for v in made}) == 8
    # A shard of a study has the bytes that the whole has.
    make_visits(of, tmp_path / "shard", shard=Shard(2, 2))
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
    make_visits(of, tmp_path / "c", jobs=2)
    made = visits(tmp_path / "c")
    assert {(v.stack, v.connection) for v in made} == {
        (stack, mode) for stack in ("h2", "h3") for mode in ("first", "repeat")
    }
    for visit in made:
        assert visit.valid, visit.reasons
        assert visit.visual
        assert visit.visual.speed_index_ms


def test_an_ordinary_user_without_any_privilege_gets_the_same(home):
    if os.geteuid():
        pytest.skip("needs root, to become somebody who is not")
    cache = home / "cache/dragstrip/virtual" / kernel().parent.name
    shutil.copytree(kernel().parent, cache)
    subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", str(home)], check=True)
    python = next((p for p in (sys.executable, "/usr/bin/python3") if _readable(p)), "")
    if not python:
        pytest.skip("no interpreter, or not this checkout, can be read by an ordinary user here")
    nobody = f"setpriv --reuid={NOBODY} --regid={NOBODY} --clear-groups --no-new-privs env".split()
    asked = [*RACE, "--runs", "1", "--out", str(home / "c")]
    done = subprocess.run(
        [*nobody, python, "-c", MAIN, *asked],
        env=_environment() | {"HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)["visits"]
    assert [v["verdict"] for v in made] == ["valid"] * 2


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _readable(python: str) -> bool:
    argv = [*AS_NOBODY, python, "-c", MAIN, "--help"]
    return not subprocess.run(argv, env=_environment(), capture_output=True).returncode


def test_how_it_is_called_does_not_matter(tmp_path):
    script = tmp_path / "elsewhere" / "run.py"
    script.parent.mkdir()
    script.write_text(MAIN)
    environment = os.environ | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(_cache())}
    journals = []
    for number, how in enumerate((["-c", MAIN], [str(script)])):
        out = tmp_path / f"c{number}"
        argv = [sys.executable, *how, *RACE, "--runs", "1", "--seed", "3", "--out", str(out)]
        subprocess.run(argv, env=environment, check=True, capture_output=True, timeout=300)
        journals.append((out / JOURNAL).read_bytes())
    assert journals[0] == journals[1]


def test_killed_in_the_middle_it_resumes_to_the_same_capsule(tmp_path, host_state):
    before = host_state()
    argv = [sys.executable, "-c", MAIN, *RACE, "--runs", "2", "--jobs", "1", "--seed", "3"]

    def start(out: Path) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*argv, "--out", str(out)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(_cache())},
        )

    cut = start(tmp_path / "cut")
    journal = tmp_path / "cut" / JOURNAL
    deadline = time.monotonic() + 120
    while not journal.exists() or journal.read_bytes().count(b"\n") < 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    (guest,) = [pid for pid in guests() if Path(f"/proc/{pid}/stat").exists()][:1]
    os.kill(guest, signal.SIGKILL)  # its block is made again
    cut.send_signal(signal.SIGKILL)
    cut.communicate()
    for out in (tmp_path / "cut", tmp_path / "whole"):
        _, said = (process := start(out)).communicate(timeout=300)
        assert process.returncode == 0, said
    assert journal.read_bytes() == (tmp_path / "whole" / JOURNAL).read_bytes()
    assert host_state() == before
    assert not list(scratch_root().glob("testbed-*/"))


def _cache() -> Path:
    return kernel().parents[3]


def test_a_guest_that_is_killed_costs_its_block_alone(tmp_path):
    of = study(tmp_path)
    block = next(of.blocks())
    with in_guest(of) as visit:
        first, _ = visit(VisitOrder(block=block, attempt=0, stack=block.order[0]))
        for pid in guests():
            os.kill(pid, signal.SIGKILL)
        with pytest.raises(Exception, match="the guest ended"):
            visit(VisitOrder(block=block, attempt=0, stack=block.order[1]))
    with in_guest(of) as visit:
        again, _ = visit(VisitOrder(block=block, attempt=0, stack=block.order[0]))
    assert again == first


def test_a_page_that_computes_for_ever_ends_in_an_error(tmp_path):
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
    of = make_study(
        name="virtual",
        pages=[str(path)],
        networks=[find_network(LOSSY)],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=1,
        seed=1,
        client=Client(),
        clock=NETWORK,
        cache=tmp_path,
    )
    block = next(of.blocks())
    with in_guest(of, still_s=8) as visit, pytest.raises(TestbedError, match="stood still"):
        visit(VisitOrder(block=block, attempt=0, stack=block.order[0]))
