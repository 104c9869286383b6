"""Where QUIC and TCP part: what the link carried of one object, and how far the windows were open.

    uv run python bench/parity/trace.py [repetitions, default 9] [folder, default docs/reference]

Takes the two objects of `bench/parity` whose ratio is furthest from one. Writes parity-traces.md
and a picture for each. It shows the visit of each stack with the median time, from its request on:
every data packet as it left the origin and as it left the link, and the congestion window by the
origin's qlog.
"""

import sys
import tempfile
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import altair as alt
from figures import NETWORKS
from msgspec import Struct, structs

from dragstrip.browsers.load import Load
from dragstrip.execution.local import Schedule, run_here
from dragstrip.model.network import Network
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.results.dissect import packets
from dragstrip.study.presets import find_stack
from dragstrip.study.spec import StudySpec
from dragstrip.visit.qlog import read_windows

STACKS = ("TCP+", "QUIC", "TCP+BBR", "QUIC+BBR")
CASES = {
    "100KB": (
        "25/5 Mbit/s, 24 ms",
        """\
Two things make QUIC slower, neither in the link nor in the controller: the kernel counts its window
in packets, so the small ones of handshake and document have opened it further than bytes have (RFC
9002 counts bytes), and it acknowledges the first packet at once, where Chromium's QUIC waits for
the second and then for its own thread. The link is idle that much longer before the second flight.
From there on both are as fast as the link.""",
    ),
    "1MB": (
        "10 ms, no rate limit",
        """\
Here computing decides, and TCP is slower. The first 200 packets leave alike. Then TCP's leave with
pauses although the window is open, and the origin's checks of the socket, due every 2 ms, are up to
20 ms late: its one thread does not get to them. Every segment is a separate packet for both kernels
(offloads are off, or the link would see packets of 64 kB), and our origin leaves at most 16 kB
unsent, so that an urgent answer can overtake: it must be woken for every 11 packets. [Computing
makes three quarters of the lead, and what waits unsent none of it](parity-cause.md). Over a link
with a rate, as above, the kernel always has data.""",
    ),
}
"""Size of the object to its network, and what the picture tells."""
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
    windows: list[tuple[float, float]]
    """ms, and the congestion window in kB."""

    @property
    def flight(self) -> int:
        """Data packets that left before the client acknowledged any."""
        return sum(t <= self.acked[0] for t in self.left)


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    folder = Path(sys.argv[2]) if len(sys.argv) > 2 else Path("docs/reference")
    lines = [HEAD.format(runs=runs)]
    for size, (network, why) in CASES.items():
        with tempfile.TemporaryDirectory() as made:
            visits = measure(size, network, runs, Path(made))
            traces = list(typical(visits, Path(made)))
        picture(traces).save(folder / f"parity-{size}.svg")
        lines += [f"## {size} over {network}", "", f"![Packets and windows](parity-{size}.svg)", ""]
        lines += [why, "", *table(traces), ""]
    (folder / "parity-traces.md").write_text("\n".join(lines))
    print("\n".join(lines))


def measure(size: str, network: str, runs: int, capsule: Path) -> list[Visit]:
    study = StudySpec(
        name="parity-traces",
        pages=[f"synth:1x{size}"],
        networks=[structs.replace(Network.parse(NETWORKS[network]), name=network)],
        stacks=[find_stack(name) for name in STACKS],
        runs=runs,
        seed=1,
        client=Client(pcap=True, qlog=True),
    ).resolve(capsule)
    visits: list[Visit] = []

    def keep(visit: Visit, load: Load) -> None:
        visits.append(visit)

    run_here(Schedule(study, []), keep, capsule)
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
    told = read_windows(capsule / "qlog" / f"{visit.file_name}.qlog")
    after = [p for p in packets(capsule, visit) if p.time_ms >= began]
    reached = [p.left_ms - began for p in after if p.side == "up" and p.left_ms is not None]
    data = [p for p in after if p.side == "down" and p.payload > DATA_BYTES]
    return Trace(
        stack=visit.stack,
        took_ms=asked.end_ms - began,
        left=[p.time_ms - began for p in data],
        delivered=[p.left_ms - began for p in data if p.left_ms is not None],
        acked=[ms for ms in reached if ms > data[0].left_ms - began],
        windows=[
            (w.time_ms - began, w.window_bytes / 1000)
            for w in told[visit.connections[0].id]
            if w.window_bytes and w.time_ms > began
        ],
    )


HEAD = """# Where QUIC and TCP diverge

`uv run python bench/parity/trace.py {runs}`: for each stack the valid visit with the median time;
times from the request on, at the origin.
"""


def table(traces: list[Trace]) -> Iterable[str]:
    columns = "stack", "request to last byte", "first flight", "first acknowledgement", "then idle"
    yield f"| {' | '.join(columns)} |"
    yield "|---" * len(columns) + "|"
    for t in traces:
        idle = max(after - before for before, after in pairwise(t.delivered[: 2 * t.flight]))
        yield (
            f"| {t.stack} | {t.took_ms:.1f} ms | {t.flight} packets | {t.acked[0]:.1f} ms "
            f"| {idle:.1f} ms |"
        )


def picture(traces: list[Trace]) -> alt.VConcatChart:
    """Above packets over time, below the windows."""
    packets_at = [
        {"stack": t.stack, "ms": ms, "packet": i, "at": at}
        for t in traces
        for at, times in (("leaves the origin", t.left), ("reaches the client", t.delivered))
        for i, ms in enumerate(times, 1)
    ]
    windows = [{"stack": t.stack, "ms": ms, "kB": kb} for t in traces for ms, kb in t.windows]
    colour = alt.Color("stack:N", sort=list(STACKS), title=None)
    x = alt.X("ms:Q", title="ms after the request")
    upper = line(packets_at).encode(
        x=x,
        y=alt.Y("packet:Q", title="data packets"),
        color=colour,
        strokeDash=alt.StrokeDash("at:N", title=None, sort=["reaches the client"]),
    )
    lower = line(windows).encode(x=x, y=alt.Y("kB:Q", title="window, kB"), color=colour)
    chart: alt.VConcatChart = alt.vconcat(
        upper.properties(width=640, height=280), lower.properties(width=640, height=140)
    ).resolve_scale(x="shared")
    return chart


def line(rows: Sequence[dict[str, object]]) -> alt.Chart:
    chart: alt.Chart = alt.Chart(alt.InlineData(values=list(rows))).mark_line(
        interpolate="step-after", strokeWidth=1.4
    )
    return chart


if __name__ == "__main__":
    main()
