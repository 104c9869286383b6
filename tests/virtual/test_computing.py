"""A clock in which computing counts: as exact as the other, later, and the link still punctual."""

from pathlib import Path

from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import COMPUTING, NETWORK, SYSCALL_NS, Clock
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.study.file import make_study
from dragstrip.study.presets import find_network, find_stack
from made_replays import busy, digests


def raced(out: Path, clock: Clock) -> tuple[list[Visit], dict[str, str]]:
    """Visits, and digests of journal and packets."""
    study = make_study(
        name="computing",
        pages=["synth:12x8KB"],
        networks=[find_network("10mbit/2mbit/20ms/2%/100ms")],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=1,
        seed=3,
        client=Client(pcap=True),
        clock=clock,
        cache=out.parent,
    )
    make_visits(study, out)
    return list(Capsule.open(out).visits()), digests(out)


def test_computing_takes_time_and_the_same_on_a_busy_machine(tmp_path):
    with busy():
        visits, beside = raced(tmp_path / "busy", COMPUTING)
    _, idle = raced(tmp_path / "idle", COMPUTING)
    assert beside == idle
    assert len(idle) == 3
    free, _ = raced(tmp_path / "free", NETWORK)
    for one in visits:
        assert one.valid, one.reasons
        assert one.clock == "computing"
        assert one.link
        late_us = max(s.lateness_max_us or 0 for s in (one.link.down, one.link.up))
        assert late_us < 10 + SYSCALL_NS / 1000
        [other] = [f for f in free if f.stack == one.stack]
        assert one.ttfb_ms > other.ttfb_ms  # before any packet is lost, by computing alone
