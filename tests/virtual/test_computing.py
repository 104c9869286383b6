"""A clock in which computing counts: as exact as the other, later, and the link still punctual."""

from pathlib import Path

from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import KEYS_NS, NETWORK, SYSCALL_NS, VIRTUAL, Clock
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.results.capsule import Capsule
from dragstrip.results.dissect import by_flow, packets
from dragstrip.study.presets import find_network, find_stack
from dragstrip.study.spec import StudySpec
from made_replays import LOSSY, busy, digests


def raced(out: Path, clock: Clock) -> tuple[list[Visit], dict[str, str]]:
    """Visits, and digests of journal and packets."""
    study = StudySpec(
        name="computing",
        pages=["synth:12x8KB"],
        networks=[find_network(LOSSY)],
        stacks=[find_stack("h2"), find_stack("h3")],
        runs=1,
        seed=3,
        client=Client(pcap=True),
        clock=clock,
    ).resolve(out.parent)
    make_visits(study, out)
    return list(Capsule.open(out).visits()), digests(out)


def keys_ms(out: Path, visit: Visit) -> float:
    """How long the browser makes its first keys: between the packets of a QUIC client's first
    flight, or from a SYN-ACK to a ClientHello."""
    first = next(iter(by_flow(packets(out, visit)).values()))
    up = [p.time_ms for p in first if p.side == "up"]
    if visit.stack == "h3":
        return up[1] - up[0]
    [accepted, *_] = [p.left_ms for p in first if p.side == "down"]
    assert accepted is not None
    return up[2] - accepted


def test_computing_takes_time_and_the_same_on_a_busy_machine(tmp_path):
    with busy():
        visits, beside = raced(tmp_path / "busy", VIRTUAL)
    _, idle = raced(tmp_path / "idle", VIRTUAL)
    assert beside == idle
    assert len(idle) == 3
    free, _ = raced(tmp_path / "free", NETWORK)
    for one in visits:
        assert one.valid, one.reasons
        assert one.clock == "virtual"
        assert one.link
        late_us = max(s.lateness_max_us or 0 for s in (one.link.down, one.link.up))
        assert late_us < 10 + SYSCALL_NS / 1000
        [other] = [f for f in free if f.stack == one.stack]
        assert one.ttfb_ms > other.ttfb_ms  # before any packet is lost, by computing alone
        assert keys_ms(tmp_path / "idle", one) >= KEYS_NS / 1e6 > keys_ms(tmp_path / "free", other)
