"""The first flight of every stack: how many packets before the first acknowledgement, and how
they were spread.

    uv run python packages/papers/bench/first_flight.py [visits per stack] [--write]

One object of 100 kB at 100 ms round trip and 100 Mbit/s, cold, seen in a capture at the link's near
end. With `--write` table and picture go to docs/reference/first-flight.{md,svg}.
"""

import statistics
import sys
import tempfile
from pathlib import Path

import altair as alt
from msgspec import Struct

from dragstrip.browsers.load import Load
from dragstrip.execution.local import Schedule, run_here
from dragstrip.model.network import Network
from dragstrip.model.stack import Stack
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.model.wire import FirstFlight
from dragstrip.results.dissect import dissection
from dragstrip.study.presets import find_stack
from dragstrip.study.spec import StudySpec

STACKS = "h1 h2 TCP+ h2+ TCP+BBR h3 h3+ QUIC+BBR caddy-h2 caddy-h3".split()
PAGE, HOST = "synth:2x100KB@2", "s2.synth.test"
"""A page whose second object comes from another host, so over another connection."""
NETWORK = Network.parse("100mbit/100mbit/50ms/0%/1000ms")
DOCS = Path(__file__).parents[3] / "docs" / "reference"


class Seen(Struct, frozen=True):
    stack: Stack
    visit: Visit
    flight: FirstFlight


def measure(runs: int) -> list[Seen]:
    """The object's first flight, in every visit that loaded."""
    with tempfile.TemporaryDirectory() as folder:
        capsule = Path(folder)
        study = StudySpec(
            name="first-flight",
            pages=[PAGE],
            networks=[NETWORK],
            stacks=[find_stack(name) for name in STACKS],
            runs=runs,
            seed=1,
            client=Client(pcap=True),
        ).resolve(capsule)
        made: list[Visit] = []

        def keep(visit: Visit, load: Load) -> None:
            made.append(visit)

        run_here(Schedule(study, []), keep, capsule)
        seen = []
        for visit in made:
            flows = dissection(capsule, visit).flows
            flights = [f.first_flight for f in flows if f.host == HOST and f.requests]
            if visit.outcome == "loaded" and len(flights) == 1 and flights[0]:
                seen.append(Seen(study.stack(visit.stack), visit, flights[0]))
        return seen


def table(seen: list[Seen]) -> str:
    rows = [
        "| stack | configured | packets | bytes | took | first ten | longest gap | result |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name in STACKS:
        mine = [s for s in seen if s.stack.name == name]
        if not mine:
            rows.append(f"| {name} | | no visit loaded | | | | | |")
            continue
        stack, flights = mine[0].stack, [s.flight for s in mine]
        asked = f"IW {stack.initial_window_packets}, {'paced' if stack.paced else 'not paced'}"
        packets = sorted(f.packets for f in flights)
        found = {"paced" if f.paced else "not paced" for f in flights}
        rows.append(
            f"| {name} | {asked} | {_range(packets)} | {_middle(f.bytes for f in flights):.0f} "
            f"| {_middle(f.duration_ms for f in flights):.1f} ms "
            f"| {_middle(sum(f.gaps_ms[:9]) for f in flights):.1f} ms "
            f"| {_middle(max(f.gaps_ms, default=0) for f in flights):.1f} ms "
            f"| {', '.join(sorted(found))} |"
        )
    return "\n".join(rows)


def picture(seen: list[Seen]) -> alt.Chart:
    """One row per stack, one tick per packet, of the visit with the median duration."""
    rows = []
    for name in STACKS:
        mine = sorted((s for s in seen if s.stack.name == name), key=lambda s: s.flight.duration_ms)
        if mine:
            typical = mine[len(mine) // 2].flight
            at = 0.0
            label = f"{name} ({typical.packets} packets)"
            for gap in (0.0, *typical.gaps_ms):
                at += gap
                rows.append({"stack": label, "ms": at})
    order = list(dict.fromkeys(row["stack"] for row in rows))
    chart: alt.Chart = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_tick(thickness=1.2, size=18)
        .encode(
            x=alt.X("ms:Q", title="ms after the answer's first packet"),
            y=alt.Y("stack:N", sort=order, title=None),
        )
        .properties(width=640, height=alt.Step(26))
    )
    return chart


def _middle(values: object) -> float:
    return statistics.median(values)


def _range(values: list[int]) -> str:
    return str(values[0]) if values[0] == values[-1] else f"{values[0]} to {values[-1]}"


def main() -> None:
    write = "--write" in sys.argv
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    seen = measure(numbers[0] if numbers else 5)
    text = table(seen)
    print(text)
    if write:
        visits = len(seen)
        (DOCS / "first-flight.md").write_text(_page(text, visits))
        picture(seen).save(DOCS / "first-flight.svg")


def _page(text: str, visits: int) -> str:
    return f"""# The first flight of every stack

From a capture at the link's near end: what the origin sent between the arrival of the request and
of the answer's first acknowledgement. One object of 100 kB, 100 ms round trip, 100 Mbit/s, cold,
{visits} visits; medians. `packages/papers/bench/first_flight.py --write` makes this page.

{text}

![One tick per packet](first-flight.svg)

Session tickets and HTTP's settings travel in the same window, so a flight has a few packets more
than the initial window: acknowledged packets of the handshake have already opened it.
"""


if __name__ == "__main__":
    main()
