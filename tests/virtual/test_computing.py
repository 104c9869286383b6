"""A clock in which computing counts: as exact as the other, later, and the link still punctual."""

from pathlib import Path

from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import (
    KEYS_NS,
    NETWORK,
    PAGE_NS,
    PRICED,
    SYSCALL_NS,
    Clock,
    ClockKind,
)
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.format.recording import Recorded, Recording
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
        visits, beside = raced(tmp_path / "busy", PRICED)
    _, idle = raced(tmp_path / "idle", PRICED)
    assert beside == idle
    assert len(idle) == 3
    free, _ = raced(tmp_path / "free", NETWORK)
    for one in visits:
        assert one.valid, one.reasons
        assert one.clock == "priced"
        assert one.link
        late_us = max(s.lateness_max_us or 0 for s in (one.link.down, one.link.up))
        assert late_us < 10 + SYSCALL_NS / 1000
        [other] = [f for f in free if f.stack == one.stack]
        assert one.ttfb_ms > other.ttfb_ms  # before any packet is lost, by computing alone
        assert keys_ms(tmp_path / "idle", one) >= KEYS_NS / 1e6 > keys_ms(tmp_path / "free", other)


def test_a_script_takes_time_for_the_memory_that_it_fills(tmp_path):
    """Filling memory makes no system call, so the memory alone is what the script pays for."""
    fills = b"<script>for (const x of new Uint8Array(8 << 20).fill(1)) if (!x) break</script>"
    page = Recorded(url="https://a.test/", headers=(("content-type", "text/html"),), wire=fills)
    recording = Recording(name="x", url=page.url, source="made", answers=(page,))
    write_page(tmp_path / "x.har.zip", recording)

    def done_ms(kind: ClockKind) -> float:
        study = StudySpec(
            name=kind,
            pages=[str(tmp_path / "x.har.zip")],
            networks=[find_network(LOSSY.replace("2%", "0%"))],
            stacks=[find_stack("h2"), find_stack("h1")],
            runs=1,
            seed=3,
            controls=False,
            clock=Clock(kind=kind),
        ).resolve(tmp_path)
        make_visits(study, tmp_path / kind)
        [visit, *_] = Capsule.open(tmp_path / kind).visits()
        assert visit.valid, visit.reasons
        assert visit.plt_ms
        return visit.plt_ms

    pages = (8 << 20) / 4096
    assert done_ms("priced") - done_ms("computing") > pages * PAGE_NS / 1e6
