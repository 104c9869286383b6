"""Precedence in real namespaces: which threads have it, and that they give it back."""

import os
import subprocess
from pathlib import Path

import pytest
from msgspec import structs

import made
from dragstrip.execution.session import wants_precedence
from dragstrip.testbed.net.namespaces import namespaces
from dragstrip.testbed.precedence import Precedence, has_precedence, precedence
from dragstrip.testbed.testbed import testbed as make_testbed


def may() -> bool:
    """Whether this machine allows real-time priority, tried in another process."""
    asked = "import os; os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))"
    return subprocess.run(["python3", "-c", asked], capture_output=True).returncode == 0


def ranks(bed, where) -> set[tuple[int, int]]:
    """Policy and priority of every thread at one end."""
    space = os.stat(bed.spaces.path(where)).st_ino
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if os.stat(process / "ns/net").st_ino != space:
                continue
            for thread in (process / "task").iterdir():
                tid = int(thread.name)
                found.add((os.sched_getscheduler(tid), os.sched_getparam(tid).sched_priority))
        except OSError:
            continue
    return found


def test_browser_and_server_have_it_and_give_it_back():
    command = ["sleep", "60"]
    with make_testbed(["a.test"]) as bed:
        child = subprocess.Popen(bed.spaces.command("client", *command))
        try:
            while not ranks(bed, "client"):
                pass
            plain = {(os.SCHED_OTHER, 0)}
            link = ranks(bed, "link")
            assert (ranks(bed, "client"), ranks(bed, "origin")) == (plain, plain)
            with precedence(bed.spaces) as ahead:
                ahead.keep(True)
                assert ahead.taken == has_precedence() == may()
                if ahead.taken:
                    assert ranks(bed, "client") == {(os.SCHED_RR, 1)}
                    assert ranks(bed, "origin") == {(os.SCHED_RR, 2)}
                assert ranks(bed, "link") == link, "it takes its own"
            assert not has_precedence()
            assert (ranks(bed, "client"), ranks(bed, "origin")) == (plain, plain)
        finally:
            child.kill()
            child.wait()


def test_a_machine_that_would_starve_the_others_gives_none(tmp_path, monkeypatch):
    unlimited = tmp_path / "sched_rt_runtime_us"
    unlimited.write_text("-1\n")
    monkeypatch.setattr("dragstrip.testbed.precedence._KEPT_FOR_OTHERS", unlimited)
    with namespaces() as spaces:
        ahead = Precedence(spaces)
        ahead.keep(True)
        assert not ahead.taken
        assert not has_precedence()


@pytest.mark.parametrize(("outside", "wanted"), [(0.04, False), (0.08, True), (None, False)])
def test_it_is_wanted_on_a_busy_machine_alone(outside, wanted):
    all_s = 0.8 * (os.cpu_count() or 1)
    host = structs.replace(
        made.visit().host,
        wall_ms=800.0,
        others_share=0.5,  # its link's
        outside_cpu_s=None if outside is None else outside * all_s,
    )
    assert wants_precedence(made.visit("h2", host=host)) is wanted
    assert not wants_precedence(None)
