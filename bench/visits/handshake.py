"""Handshake physics: responseStart minus connectStart of the document, in round trips.

    uv run python bench/visits/handshake.py [--old] [visits per stack, mode and network] [folder]

Two delays are measured, interleaved, because one alone cannot tell network from computing: the
slope between them is the number of round trips, the rest is what browser and origin compute
(certificate verification for the most part). What the browser spends before connectStart is printed
apart. TLS 1.2 saves a round trip by False Start, which Chromium always does with our cipher.
Writes handshake.md, handshake.json and handshake.svg into the folder, by default docs/reference.
"""

import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import altair as alt
import msgspec
from msgspec import Struct

from dragstrip.browsers.registry import browser_version
from dragstrip.execution.local import Schedule, run_here
from dragstrip.model.network import Network
from dragstrip.model.stack import ConnectionMode
from dragstrip.model.study import Client
from dragstrip.model.visit import Visit
from dragstrip.study.presets import find_stack
from dragstrip.study.spec import StudySpec

SHORT_MS, LONG_MS = 20.0, 100.0
ROUND_TRIPS: dict[tuple[str, ConnectionMode], int] = {
    ("h1", "first"): 3,
    ("h2", "first"): 3,
    ("h2", "repeat"): 3,
    ("TCP-TLS1.2", "first"): 3,
    ("TCP-TLS1.2", "repeat"): 3,
    ("TCP+early", "first"): 3,
    ("TCP+early", "repeat"): 2,
    ("QUIC-1RTT", "repeat"): 2,
    ("QUIC", "first"): 2,
    ("QUIC", "repeat"): 1,
}
OLD: dict[tuple[str, ConnectionMode], int] = {
    ("h1-chromium53", "first"): 3,
    ("h2-chromium53", "first"): 3,
    ("h2-chromium53", "repeat"): 3,
    ("SPDY", "first"): 3,
    ("SPDY", "repeat"): 3,
    ("h1-chromium70", "first"): 3,
    ("h2-chromium70", "first"): 3,
    ("h2-chromium70", "repeat"): 3,
    ("gQUIC", "first"): 2,
    ("gQUIC", "repeat"): 1,
}
"""Round trips with `--old`, after `dragstrip legacy install`. TLS 1.2 has False Start there;
gQUIC's server asks no proof of address, so that its first answer already carries the
certificate."""


def network(rtt_ms: float) -> Network:
    return Network.parse(f"100mbit/100mbit/{rtt_ms / 2:g}ms/0%/200ms")


class Row(Struct, frozen=True, kw_only=True):
    """One stack and kind of visit, medians over its valid visits at both delays."""

    stack: str
    visit: ConnectionMode
    expected: int
    """Round trips."""
    round_trips: float
    at_100_ms: float
    least: float
    most: float
    computing_ms: float
    before_ms: float
    """Time from the navigation's start to connectStart."""
    visits: int


def main() -> None:
    given = [argument for argument in sys.argv[1:] if argument != "--old"]
    runs = int(given[0]) if given else 20
    folder = Path(given[1]) if len(given) > 1 else Path("docs/reference")
    old = "--old" in sys.argv
    expected = OLD if old else ROUND_TRIPS
    visits: list[Visit] = []
    with tempfile.TemporaryDirectory() as cache:
        study = StudySpec(
            name="handshake",
            pages=["synth:1x1KB"],
            networks=[network(SHORT_MS), network(LONG_MS)],
            stacks=[find_stack(name) for name in dict.fromkeys(s for s, _ in expected)],
            connections=(
                "first",
                "repeat",
            ),
            runs=runs,
            seed=1,
            client=Client(),
        ).resolve(Path(cache))
        run_here(Schedule(study, []), lambda visit, _: visits.append(visit))
    valid = [v for v in visits if v.valid]
    rows = [row for what, trips in expected.items() if (row := measured(valid, *what, trips))]
    browsers = ", ".join(dict.fromkeys(browser_version(s.browser) for s in study.stacks))
    command = f"uv run python bench/visits/handshake.py {'--old ' * old}{runs}"
    made = f"`{command}`: {browsers}, {len(visits)} visits, {len(valid)} valid"
    text = table(rows, made)
    folder.mkdir(parents=True, exist_ok=True)
    name = "handshake-old" if old else "handshake"
    (folder / f"{name}.md").write_text(text.replace("handshake.svg", f"{name}.svg"))
    (folder / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
    draw(rows, folder / f"{name}.svg")
    print(text)


def measured(valid: Sequence[Visit], stack: str, mode: ConnectionMode, expected: int) -> Row | None:
    mine = [v for v in valid if (v.stack, v.connection) == (stack, mode)]
    short, long = (spans(mine, network(rtt).name) for rtt in (SHORT_MS, LONG_MS))
    if not short or not long:
        return None
    slope = (statistics.median(long) - statistics.median(short)) / (LONG_MS - SHORT_MS)
    return Row(
        stack=stack,
        visit=mode,
        expected=expected,
        round_trips=slope,
        at_100_ms=statistics.median(long),
        least=min(long),
        most=max(long),
        computing_ms=statistics.median(long) - slope * LONG_MS,
        before_ms=statistics.median(
            (v.ttfb_ms or 0) - (v.connect_to_response_ms or 0) for v in mine
        ),
        visits=len(mine),
    )


def spans(visits: Sequence[Visit], network: str) -> list[float]:
    mine = [v for v in visits if v.network == network]
    return [v.connect_to_response_ms for v in mine if v.connect_to_response_ms]


def table(rows: Sequence[Row], made: str) -> str:
    """Markdown."""
    lines = [
        "# Handshakes in round trips",
        "",
        f"{made}; a page of one object.",
        "responseStart minus connectStart of the document. Round trips: the slope between "
        f"{SHORT_MS:g} and {LONG_MS:g} ms;",
        "computing: the median minus the delay (certificates, keys).",
        "",
        f"| stack | visit | expected | round trips | computing | median at {LONG_MS:g} ms "
        "| least and most | before connectStart | n |",
        "|---" * 9 + "|",
    ]
    lines += [
        f"| {r.stack} | {r.visit} | {r.expected} | {r.round_trips:.3f} | {r.computing_ms:.1f} ms "
        f"| {r.at_100_ms:.1f} ms | {r.least:.1f}, {r.most:.1f} | {r.before_ms:.1f} ms "
        f"| {r.visits} |"
        for r in rows
    ]
    return "\n".join([*lines, "", "![The table as bars](handshake.svg)", ""])


def draw(rows: Sequence[Row], path: Path) -> None:
    """Bars of the median at 100 ms, in round trips: the network's part and computing."""
    values = [
        {"what": f"{r.stack}, {r.visit}", "part": part, "trips": trips}
        for r in rows
        for part, trips in (("network", r.round_trips), ("computing", r.computing_ms / LONG_MS))
    ]
    alt.Chart(alt.Data(values=values), width=560).mark_bar().encode(
        x=alt.X("trips:Q", title=f"round trips of {LONG_MS:g} ms to the first byte"),
        y=alt.Y("what:N", sort=None, title=None),
        color=alt.Color("part:N", sort=["network", "computing"], title=None),
        order=alt.Order("part:N", sort="descending"),
    ).save(path)


if __name__ == "__main__":
    main()
