"""The clock with prices for computing: it is as exact as the other, loads are later, and the link
stays punctual."""

from pathlib import Path

import pytest

from dragstrip.conduct.visits import make_visits
from dragstrip.model.clock import (
    KEYS_NS,
    NETWORK,
    PAGE_NS,
    PRICED,
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
    """The time in which the browser makes its first keys: between the packets of a QUIC client's
    first flight, or from a SYN-ACK to a ClientHello."""
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
        assert one.clock == PRICED.kind
        assert one.link
        late_us = max(s.lateness_max_us or 0 for s in (one.link.down, one.link.up))
        assert late_us < 10
        [other] = [f for f in free if f.stack == one.stack]
        assert one.ttfb_ms > other.ttfb_ms  # before any packet is lost, by computing alone
        assert keys_ms(tmp_path / "idle", one) >= KEYS_NS / 1e6 > keys_ms(tmp_path / "free", other)


def test_a_script_takes_time_for_the_memory_that_it_fills(tmp_path):
    """Filling memory makes no system call, so the memory alone is what the script pays for."""

    def done_ms(kind: ClockKind) -> float:
        return _done_ms(tmp_path / kind, 8, clock=Clock(kind=kind))

    pages = (8 << 20) / 4096
    assert done_ms(PRICED.kind) - done_ms("computing") > pages * PAGE_NS / 1e6


def test_a_client_four_times_slower_takes_four_times_as_long_for_what_it_computes(tmp_path):
    """The test takes the time for 48 MB minus that for 8 MB, so that everything else cancels
    out."""

    def fills_ms(slowdown: float) -> float:
        first, second = (
            _done_ms(tmp_path / f"{slowdown:g}-{size}", size, slowdown) for size in (8, 48)
        )
        return second - first

    assert fills_ms(4) == pytest.approx(4 * fills_ms(1), rel=0.05)


def _done_ms(folder: Path, size_mb: int, slowdown: float = 1.0, clock: Clock = PRICED) -> float:
    """Page load time of a page whose script fills `size_mb` MB."""
    filled = f"new Uint8Array({size_mb} << 20).fill(1)"
    fills = f"<script>for (const x of {filled}) if (!x) break</script>"
    page = Recorded(
        url="https://a.test/", headers=(("content-type", "text/html"),), wire=fills.encode()
    )
    folder.mkdir()
    recording = Recording(name="x", url=page.url, source="made", answers=(page,))
    write_page(folder / "x.har.zip", recording)
    study = StudySpec(
        name="fills",
        pages=[str(folder / "x.har.zip")],
        networks=[find_network(LOSSY.replace("2%", "0%"))],
        stacks=[find_stack("h2"), find_stack("h1")],
        runs=1,
        seed=3,
        controls=False,
        client=Client(cpu_slowdown=slowdown),
        clock=clock,
    ).resolve(folder)
    make_visits(study, folder / "out")
    [visit, *_] = Capsule.open(folder / "out").visits()
    assert visit.valid, visit.reasons
    assert visit.plt_ms
    return visit.plt_ms
