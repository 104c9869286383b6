"""Why does an object of 100 KB take longer over QUIC? What the link carried, over 25/5 Mbit/s.

    uv run python bench/parity/trace.py [repetitions, default 9] [folder, default docs/reference]

Writes parity-100KB.md and parity-100KB.svg: of each stack the visit with the median time, from its
request on, every data packet as it left the origin and as the link let it go.
"""

import sys
import tempfile
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import altair as alt
from msgspec import Struct

from dragstrip.browsers.load import Load
from dragstrip.model.network import Network
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.results.dissect import packets
from dragstrip.schedule.run import Schedule, run
from dragstrip.study.file import make_study
from dragstrip.study.presets import find_stack

STACKS = ("TCP+", "QUIC", "TCP+BBR", "QUIC+BBR")
NETWORK = Network.parse("25mbit/5mbit/12ms/0%/200ms")
DATA_BYTES = 500
"""Payloads below are acknowledgements and headers."""


class Trace(Struct, frozen=True):
    """Times are ms after the request was sent."""

    stack: str
    took_ms: float
    left: list[float]
    """When each data packet left the origin."""
    delivered: list[float]
    acked: list[float]
    """When the packets of the client reached the origin."""

    @property
    def flight(self) -> int:
        """Data packets that left before the client acknowledged any."""
        return sum(t <= self.acked[0] for t in self.left)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs/reference")
    with tempfile.TemporaryDirectory() as made:
        traces = list(typical(measure(runs, Path(made)), Path(made)))
    text = "\n".join(table(traces, runs))
    print(text)
    (folder / "parity-100KB.md").write_text(text)
    picture(traces).save(folder / "parity-100KB.svg")


def measure(runs: int, capsule: Path) -> list[Visit]:
    study = make_study(
        name="parity-100KB",
        pages=["synth:1x100KB"],
        networks=[NETWORK],
        stacks=[find_stack(name) for name in STACKS],
        runs=runs,
        seed=1,
        client=Client(pcap=True),
        cache=capsule,
    )
    visits: list[Visit] = []

    def keep(visit: Visit, load: Load) -> None:
        visits.append(visit)

    run(Schedule(study, []), keep, capsule)
    return [visit for visit in visits if visit.valid]


def typical(visits: Iterable[Visit], capsule: Path) -> Iterable[Trace]:
    for stack in STACKS:
        traces = (trace(v, capsule) for v in visits if v.stack == stack)
        ordered = sorted(traces, key=lambda t: t.took_ms)
        yield ordered[len(ordered) // 2]


def trace(visit: Visit, capsule: Path) -> Trace:
    asked = max(visit.requests, key=lambda r: r.start_ms)
    assert asked.send_start_ms is not None
    assert asked.end_ms is not None
    began = asked.send_start_ms
    after = [p for p in packets(capsule, visit) if p.time_ms >= began]
    reached = [p.left_ms - began for p in after if p.side == "up" and p.left_ms is not None]
    data = [p for p in after if p.side == "down" and p.payload > DATA_BYTES]
    return Trace(
        stack=visit.stack,
        took_ms=asked.end_ms - began,
        left=[p.time_ms - began for p in data],
        delivered=[p.left_ms - began for p in data if p.left_ms is not None],
        acked=[ms for ms in reached if ms > data[0].left_ms - began],  # type: ignore[operator]
    )


HEAD = """# Where 100 KB lose time over QUIC

`uv run python bench/parity/trace.py {runs}`: 25/5 Mbit/s, 24 ms; of each stack the visit with the
median time.

![Data packets over time](parity-100KB.svg)

Two things put QUIC behind, neither of them the link's or the controller's: the kernel counts its
window in packets, so the small ones of handshake and document have opened it further than bytes
have (RFC 9002 counts bytes), and it acknowledges the first packet at once, where Chromium's QUIC
waits for the second and then for its own thread. The link is idle that much longer before the
second flight; from there on both are as fast as it is.

| stack | request to last byte | first flight | first acknowledgement | then the link is idle for |
|---|---|---|---|---|
"""


def table(traces: list[Trace], runs: int) -> Iterable[str]:
    yield HEAD.format(runs=runs).rstrip()
    for t in traces:
        idle = max(after - before for before, after in pairwise(t.delivered))
        yield (
            f"| {t.stack} | {t.took_ms:.1f} ms | {t.flight} packets | {t.acked[0]:.1f} ms "
            f"| {idle:.1f} ms |"
        )
    yield ""


def picture(traces: list[Trace]) -> alt.Chart:
    rows = [
        {"stack": t.stack, "ms": ms, "packet": i, "at": at}
        for t in traces
        for at, times in (("leaves the origin", t.left), ("reaches the client", t.delivered))
        for i, ms in enumerate(times, 1)
    ]
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_line(interpolate="step-after", strokeWidth=1.4)
        .encode(
            x=alt.X("ms:Q", title="ms after the request"),
            y=alt.Y("packet:Q", title="data packets"),
            color=alt.Color("stack:N", sort=list(STACKS), title=None),
            strokeDash=alt.StrokeDash("at:N", title=None, sort=["reaches the client"]),
        )
        .properties(width=640, height=320)
    )
    return chart


if __name__ == "__main__":
    main()
