"""Servers compared: docs/results/servers.md.

    uv run python packages/papers/bench/servers_page.py CAPSULE... docs/results/servers

Each capsule is a race of several servers' stacks; or one made by `dragstrip why`, which explains a
gap; or a race with captures, whose first flights are shown. Writes NAME.md and NAME.svg: page load
times, and each stack's ratio to h2 of our origin.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import altair as alt
import numpy as np
from first_flight import HOST
from msgspec import Struct

from dragstrip.model.wire import FirstFlight
from dragstrip.report.words.why import sentence
from dragstrip.results.capsule import Capsule
from dragstrip.results.compare.attribution import why
from dragstrip.results.dissect import dissection
from dragstrip.results.observed import Observed, observed
from dragstrip.results.tables.build import refresh, scan
from dragstrip_papers.provenance import command, made_by

_TOO_CLOSE = 0.01
"""Stacks within so much of the fastest share its place."""


class Column(Struct, frozen=True):
    """A page over a network: median page load time in ms, by stack."""

    page: str
    network: str
    blocks: int
    plt_ms: dict[str, float]
    browser: str
    """The browser's description, as in a capsule's start."""

    @property
    def name(self) -> str:
        rate, *rest = self.network.split("/")
        lossy = f" {rest[2]} lost" if len(rest) > 2 and rest[2] != "0%" else ""
        return f"{self.page}, {rate}{lossy}, {self.browser.split()[0]}"

    def ahead(self) -> list[str]:
        best = min(self.plt_ms.values())
        return [s for s, ms in self.plt_ms.items() if ms <= best * (1 + _TOO_CLOSE)]


def main() -> None:
    *folders, target = map(Path, sys.argv[1:])
    capsules = [Capsule.open(folder) for folder in folders]
    for capsule in capsules:
        refresh(capsule)
    explained = [c for c in capsules if c.manifest.study.bridge]
    captured = [c for c in capsules if c.manifest.study.client.pcap]
    columns = [x for c in capsules if c not in (*explained, *captured) for x in read(c)]
    heat(columns).save(target.with_suffix(".svg"))
    text = [*races(columns, target.name), *gaps(explained), *flights(captured), *made(capsules)]
    target.with_suffix(".md").write_text("\n".join([*text, ""]))


def read(capsule: Capsule) -> Iterator[Column]:
    study = capsule.manifest.study
    browser = capsule.manifest.starts[-1].browser_version
    for cell in observed(study, scan(capsule, "visits")):
        if cell.counted:
            times = {s.name: median(cell, s.name) for s in study.stacks}
            yield Column(cell.page, cell.network, cell.counted, times, browser)


def median(cell: Observed, stack: str) -> float:
    return float(np.median(cell.of(stack, "plt_ms").values))


def heat(columns: Sequence[Column]) -> alt.LayerChart:
    stacks = list(dict.fromkeys(s for c in columns for s in c.plt_ms))
    rows = [
        {"cell": c.name, "stack": s, "ratio": ms / c.plt_ms["h2"], "ms": ms}
        for c in columns
        for s, ms in c.plt_ms.items()
    ]
    base = alt.Chart(alt.Data(values=rows)).encode(
        alt.X("cell:N", sort=[c.name for c in columns], title=None).axis(
            labelAngle=-35, labelLimit=400
        ),
        alt.Y("stack:N", sort=stacks, title=None).axis(labelLimit=200),
    )
    scale = alt.Scale(scheme="blueorange", domainMid=1, domain=[0.5, 1.5], clamp=True)
    legend = alt.Legend(title="to our h2", format="%")
    boxes = base.mark_rect().encode(alt.Color("ratio:Q", scale=scale.copy(), legend=legend))
    ink = alt.condition(
        "datum.ratio > 1.35 || datum.ratio < 0.65", alt.value("white"), alt.value("black")
    )
    words = base.mark_text(fontSize=10).encode(alt.Text("ratio:Q", format=".2f"), color=ink)
    return alt.layer(boxes, words).properties(
        width=60 * len(columns),
        height=22 * len(stacks),
        padding={"left": 30, "right": 30, "top": 5, "bottom": 30},
    )


def races(columns: Sequence[Column], name: str) -> Iterator[str]:
    yield "# Servers compared"
    yield ""
    yield f"![Page load time of each stack divided by h2 of our origin]({name}.svg)"
    yield ""
    yield "Median page load time in ms; bold is the fastest, with all within 1 % of it. In virtual"
    yield "time computing takes no time, so this shows how each server's protocol uses the"
    yield "network, not how fast it computes. Each server runs as its packager ships it. `h1` to"
    yield "`h3` are our origin, stock; `h1+` to `h3+` are tuned alike."
    yield ""
    yield "A heading has the number of blocks of each page. Where packets are lost, by chance or"
    yield "because DSL's queue holds 12 ms, chance decides much of a load: one block, or three, do"
    yield "not rank servers that are close. Firefox's blocks differ by a few percent"
    yield "(docs/howto/own-browser.md)."
    yield ""
    for network, browser in dict.fromkeys((c.network, c.browser) for c in columns):
        yield from table([c for c in columns if (c.network, c.browser) == (network, browser)])


def gaps(capsules: Sequence[Capsule]) -> Iterator[str]:
    if not capsules:
        return
    yield "## What stands behind the largest gaps"
    yield ""
    for capsule in capsules:
        answer = why(capsule.manifest.study, scan(capsule, "visits"))
        for cell in answer.cells:
            yield f"- {sentence(answer, cell)}"
    yield ""


def flights(capsules: Sequence[Capsule]) -> Iterator[str]:
    """How many packets each stack sends before the first acknowledgement: its initial window."""
    for capsule in capsules:
        found: dict[str, FirstFlight] = {}
        for visit in capsule.visits():
            flows = dissection(capsule.path, visit).flows
            mine = [f.first_flight for f in flows if f.host == HOST and f.requests]
            if visit.valid and len(mine) == 1 and mine[0]:
                found[visit.stack] = mine[0]
        yield "What a server sends of 100 kB before it hears of the first packet, 100 ms away. On"
        yield "pages of small objects this is most of what tells the HTTP/3 stacks apart:"
        yield ""
        yield "| stack | packets | bytes | |"
        yield "|---|---|---|---|"
        for stack, flight in sorted(found.items(), key=lambda each: -each[1].bytes):
            paced = "paced" if flight.paced else "at once"
            yield f"| {stack} | {flight.packets} | {flight.bytes} | {paced} |"
        yield ""


def table(columns: Sequence[Column]) -> Iterator[str]:
    heads = " | ".join(f"{c.page} ({c.blocks})" for c in columns)
    yield f"## {columns[0].network}, {columns[0].browser}"
    yield ""
    yield f"| stack; page (blocks) | {heads} |"
    yield "|---" * (len(columns) + 1) + "|"
    for stack in columns[0].plt_ms:
        cells = [
            f"**{c.plt_ms[stack]:.0f}**" if stack in c.ahead() else f"{c.plt_ms[stack]:.0f}"
            for c in columns
        ]
        yield f"| {stack} | {' | '.join(cells)} |"
    yield ""


def made(capsules: Sequence[Capsule]) -> Iterator[str]:
    yield "## How it was made"
    yield ""
    versions = {k: v for c in capsules for k, v in c.manifest.starts[0].server_versions.items()}
    for server, version in sorted(versions.items()):
        yield f"- {server}: {version}"
    yield ""
    for capsule in capsules:
        visits = list(capsule.visits())
        told = Counter(r.code for v in visits for r in v.reasons)
        reasons = f" ({', '.join(f'{c} {n}' for c, n in told.items())})" if told else ""
        invalid = sum(not v.valid for v in visits)
        start = capsule.manifest.starts[0]
        again = f"{invalid} of them invalid{reasons} and made again" if invalid else "all valid"
        yield f"{len(visits)} visits, {again}, in {hours(capsule):.1f} h;"
        yield f"{start.browser_version}, {capsule.manifest.study.clock.describe()}:"
        yield ""
        yield f"    {command(start.command)}"
        yield ""
        for said in made_by(capsule.manifest.starts):
            yield f"Made by {said}."
            yield ""
        study = capsule.manifest.study
        cells = observed(study, scan(capsule, "visits"))
        left_out = [f"{c.page} over {c.network}" for c in cells if not c.counted]
        if left_out:
            yield f"No block counts of {', '.join(left_out)}: each had an invalid visit."
            yield ""


def hours(capsule: Capsule) -> float:
    """Hours of all starts that finished."""
    took = (
        datetime.fromisoformat(start.finished) - datetime.fromisoformat(start.started)
        for start in capsule.manifest.starts
        if start.finished
    )
    return sum(span.total_seconds() for span in took) / 3600


if __name__ == "__main__":
    main()
