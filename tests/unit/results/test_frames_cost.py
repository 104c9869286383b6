"""The measured cost of frames belongs to one machine and one browser, and reaches the report."""

import pytest
from msgspec import structs

import made_capsule
import made_films
from dragstrip.model.frames_cost import FramesCost, StackFramesCost
from dragstrip.report.site.site import build
from dragstrip.results.capsule import Capsule
from dragstrip.results.frames_cost import keep, kept, known
from dragstrip.results.journal import CapsuleError
from dragstrip.results.manifest import Manifest

START = made_capsule.START
H3 = StackFramesCost(
    stack="h3",
    blocks=30,
    with_ms=1234.0,
    without_ms=1200.0,
    ratio=1.028,
    low=1.02,
    high=1.036,
    p_equivalent=0.001,
)
COST = FramesCost(
    measured="2026-03-01T12:00:00+00:00",
    cpu=START.machine.cpu,
    cores=START.machine.cores,
    browser_version=START.browser_version,
    page="demo",
    network="LTE",
    margin=0.05,
    stacks=(H3,),
)


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def test_what_was_measured_here_with_this_browser_is_known():
    assert known(START) is None
    keep(COST)
    assert known(START) == COST


def test_another_browser_or_machine_was_not_measured():
    keep(COST)
    assert known(structs.replace(START, browser_version="Chromium 70")) is None
    machine = structs.replace(START.machine, cpu="another")
    assert known(structs.replace(START, machine=machine)) is None


def test_a_damaged_file_is_named():
    keep(COST)
    kept().write_bytes(b"{")
    with pytest.raises(CapsuleError, match=r"frames-cost\.json: not a frames cost"):
        known(START)


@pytest.mark.parametrize(
    ("cost", "said"),
    [(COST, "1.028 (1.020 to 1.036)"), (None, "was not measured on this machine")],
    ids=["measured", "not measured"],
)
def test_the_report_says_what_frames_cost_or_that_it_is_unknown(tmp_path, cost, said):
    start = structs.replace(START, frames_cost=cost)
    study = structs.replace(made_films.study(), client=made_films.CLIENT)
    with Capsule.create(tmp_path / "c", Manifest(study=study, starts=(start,))):
        pass
    page = build(Capsule.open(tmp_path / "c")).with_name("testbed.html")
    assert said in page.read_text(encoding="utf-8")
