"""Two blocks at once in real testbeds, with the controls of a study."""

import threading
from pathlib import Path

import pytest
from msgspec import structs

from dragstrip.execution.concurrency import RealTimeConcurrency
from dragstrip.execution.local import Schedule, run_here
from dragstrip.model.network import Network
from dragstrip.model.study import Client
from dragstrip.results.capsule import Capsule
from dragstrip.results.manifest import Manifest
from dragstrip.study.controls import HELD, SAME
from dragstrip.study.presets import find_stack
from dragstrip.study.spec import StudySpec

SLOW = structs.replace(Network.parse("1mbit/1mbit/60ms/0%/200ms"), name="slow")


@pytest.fixture
def study(tmp_path):
    return StudySpec(
        name="jobs",
        pages=["synth:3x2KB"],
        networks=[SLOW],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=3,
        seed=5,
        client=Client(),
        controls=True,
    ).resolve(tmp_path / "pages")


def children() -> str:
    return Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text()


def test_two_blocks_run_beside_each_other_and_leave_no_process(study, tmp_path):
    before = children()
    with Capsule.create(tmp_path / "capsule", Manifest(study=study, starts=())) as capsule:
        run_here(
            Schedule(structs.replace(study, reruns=0)),
            lambda visit, _: capsule.append(visit),
            # The study claims enough cores; whether the machine has them does not matter here.
            concurrency=RealTimeConcurrency(study, 2, cores=64, stagger_s=0.0),
        )
    visits = list(Capsule.open(tmp_path / "capsule").visits())
    expected = {(block.id, stack) for block in study.blocks() for stack in block.order}
    assert {(v.block, v.stack) for v in visits} == expected
    assert len(visits) == len(expected)
    assert {v.beside for v in visits} >= {1}
    # Every testbed served its own visits, over its own link.
    assert {v.verdict for v in visits} <= {"valid", "overloaded"}
    assert {v.seed for v in visits} == {block.seed for block in study.blocks()}
    assert children() == before

    answered = {
        name: [min(v.served, key=lambda s: s.t_us) for v in visits if v.stack == name]
        for name in (SAME, HELD)
    }
    held = [s.end_us - s.t_us for s in answered[HELD]]
    assert min(held) >= 1000 * SLOW.rtt_ms
    assert min(s.end_us - s.t_us for s in answered[SAME]) < min(held)
