"""BBR over QUIC beside the kernel's: throughput, and traces of window and pacing rate.

    uv run python bench/protocols/bbr.py [runs per case] [folder for the drawings]

One object is loaded through the link by Chromium (two objects from two hosts where two flows share
it), once over TCP+BBR and once over QUIC+BBR, in turn. Throughput is bytes over time from the first
to the last byte, as the browser saw them; of two flows, of both together. The origin is asked for
each connection's window and rate every 20 ms. The aim is 10 %. With a folder, the table is written
there as bbr.md beside the drawings. The section that bench/protocols/bbr_versions.py writes is
kept.
"""

import re
import statistics
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import altair as alt

from dragstrip.browsers.chromium import Chromium, chromium
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.pages.format.archive import write_page
from dragstrip.pages.generators.synth import synth
from dragstrip.study.presets import find_stack
from dragstrip.testbed.servers import Servers
from dragstrip.testbed.testbed import Testbed, testbed

STACKS = ("TCP+BBR", "QUIC+BBR")
CLIENT = Client(timeout_s=60)
SAMPLE_S = 0.02
HEADING = "## Version 1 in Chromium, in real time"


@dataclass(frozen=True)
class Case:
    name: str
    network: str
    flows: int = 1

    @property
    def slug(self) -> str:
        return re.sub(r"\W+", "-", self.name).strip("-")


# At 20 Mbit/s and 50 ms the pipe holds 125 kB, and 50 ms of queue hold as much again.
CASES = (
    Case("deep queue", "20mbit/20mbit/25ms/0%/200ms"),
    Case("shallow queue", "20mbit/20mbit/25ms/0%/12ms"),
    Case("random loss 1 %", "20mbit/20mbit/25ms/1%/100ms"),
    Case("two flows", "20mbit/20mbit/25ms/0%/100ms", flows=2),
)

Sample = dict[str, object]


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    drawings = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    with tempfile.TemporaryDirectory() as folder, ExitStack() as resources:
        pages = {
            flows: write_page(Path(folder) / f"{flows}.har.zip", synth(f"{flows}x6MB", hosts=flows))
            for flows in {case.flows for case in CASES}
        }
        hosts = dict.fromkeys(host for page in pages.values() for host in page.hosts)
        bed = resources.enter_context(testbed(list(hosts)))
        stacks = [find_stack(name) for name in STACKS]
        browsers = {
            s.name: resources.enter_context(chromium(bed, s.protocol, CLIENT)) for s in stacks
        }
        lines = [
            HEADING,
            "",
            f"`uv run python bench/protocols/bbr.py {runs} docs/reference`: medians of {runs} "
            "loads of 6 MB a flow, Mbit/s; 20 Mbit/s, 50 ms.",
            "",
            f"| case | link | {' | '.join(STACKS)} | QUIC / TCP | |",
            "|---" * 6 + "|",
        ]
        for case in CASES:
            page = pages[case.flows]
            bed.origin.serve(page)
            seen: dict[str, list[float]] = {name: [] for name in STACKS}
            samples: list[Sample] = []
            for run in range(runs):
                for stack in stacks:
                    network = Network.parse(case.network)
                    made, trace = once(
                        bed, browsers[stack.name], stack, page.url, network, seed=run
                    )
                    seen[stack.name].append(made)
                    samples += trace if run == 0 else []
            middle = [statistics.median(seen[name]) for name in STACKS]
            drawing = f"bbr-{case.slug}.svg"
            lines.append(
                f"| {case.name} | `{case.network}` | {middle[0]:.2f} | {middle[1]:.2f} "
                f"| {middle[1] / middle[0]:.3f} | [window and rate]({drawing}) |"
            )
            print(lines[-1], flush=True)
            if drawings:
                drawings.mkdir(parents=True, exist_ok=True)
                draw(case, samples, drawings / drawing)
        if drawings:
            written = drawings / "bbr.md"
            before = written.read_text().partition(HEADING)[0] if written.is_file() else ""
            written.write_text(before + "\n".join([*lines, ""]))


def once(
    bed: Testbed, browser: Chromium, stack: Stack, url: str, network: Network, seed: int
) -> tuple[float, list[Sample]]:
    """Throughput of a load in Mbit/s, and its connections' windows and rates over time."""
    bed.tune(stack)
    bed.origin.log()
    trace: list[Sample] = []
    over = threading.Event()
    with browser.fresh_tab(CLIENT) as tab:
        bed.link.configure(network, seed)
        watcher = threading.Thread(target=watch, args=(bed, stack, trace, over))
        watcher.start()
        made = tab.load(url)
        over.set()
        watcher.join()
        bed.link.passthrough()
    bed.origin.close()
    large = [e.request for e in made.exchanges if e.request.wire_bytes > 1_000_000]
    starts = [r.response_start_ms for r in large if r.response_start_ms is not None]
    ends = [r.end_ms for r in large if r.end_ms is not None]
    if made.outcome != "loaded" or not starts or not ends:
        return 0.0, trace
    return sum(r.wire_bytes for r in large) * 8 / (max(ends) - min(starts)) / 1000, trace


def watch(bed: Testbed, stack: Stack, trace: list[Sample], over: threading.Event) -> None:
    begun = time.monotonic()
    while not over.wait(SAMPLE_S):
        assert isinstance(bed.origin, Servers)
        for connection in bed.origin.connections():
            told = connection.transport
            if told and told.sent_bytes > 100_000:
                trace.append(
                    {
                        "stack": stack.name,
                        "flow": f"{stack.name} {connection.host}",
                        "seconds": time.monotonic() - begun,
                        "window, packets": told.window_packets,
                        "pacing rate, Mbit/s": told.pacing_mbps,
                    }
                )


def draw(case: Case, samples: list[Sample], path: Path) -> None:
    def panel(what: str) -> alt.Chart:
        return (
            alt.Chart(alt.Data(values=samples), title=case.name, width=700, height=200)
            .mark_line(interpolate="step-after")
            .encode(
                x=alt.X("seconds:Q"),
                y=alt.Y(f"{what}:Q", scale=alt.Scale(zero=True)),
                color="stack:N",
                detail="flow:N",
            )
        )

    alt.vconcat(panel("window, packets"), panel("pacing rate, Mbit/s")).save(path)


if __name__ == "__main__":
    main()
