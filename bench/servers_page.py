"""Servers compared: docs/results/servers.md.

    uv run python bench/servers_page.py CAPSULE... docs/results/servers

Each capsule holds races of several servers' stacks. Writes NAME.md and NAME.svg: page load times,
and each stack's ratio to the first of its capsule.
"""

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import altair as alt
import numpy as np
from msgspec import Struct
from results import command

from dragstrip.results.capsule import Capsule
from dragstrip.results.observed import Observed, observed
from dragstrip.results.tables import refresh, scan

_TOO_CLOSE = 0.01
"""Stacks within so much of the fastest share its place."""


class Column(Struct, frozen=True):
    """A page over a network: median page load time in ms, by stack."""

    page: str
    network: str
    blocks: int
    plt_ms: dict[str, float]
    browser: str
    """In words, as a capsule's start has it."""

    @property
    def name(self) -> str:
        return f"{self.page}, {self.network.partition('/')[0]}, {self.browser.split()[0]}"

    def ahead(self) -> list[str]:
        best = min(self.plt_ms.values())
        return [s for s, ms in self.plt_ms.items() if ms <= best * (1 + _TOO_CLOSE)]


def main() -> None:
    *folders, target = map(Path, sys.argv[1:])
    capsules = [Capsule.open(folder) for folder in folders]
    columns = [column for capsule in capsules for column in read(capsule)]
    heat(columns).save(target.with_suffix(".svg"))
    target.with_suffix(".md").write_text("\n".join([*page(capsules, columns, target.name), ""]))


def read(capsule: Capsule) -> Iterator[Column]:
    refresh(capsule)
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


def page(capsules: Sequence[Capsule], columns: Sequence[Column], name: str) -> Iterator[str]:
    yield "# Servers compared"
    yield ""
    yield f"![Page load time of each stack divided by h2 of our origin]({name}.svg)"
    yield ""
    yield "Median page load time in ms; bold is the fastest, with all within 1 % of it. In virtual"
    yield "time computing takes no time, so this is what each server's protocol makes of the"
    yield "network, not how fast it computes. Each server runs as its packager ships it. `h1` to"
    yield "`h3` are our origin, stock; `h1+` to `h3+` are tuned alike. Over DSL, whose queue holds"
    yield "12 ms, and wherever packets are lost, a single block holds luck: read no order of"
    yield "servers from it. Firefox's blocks differ by some percent (docs/howto/own-browser.md), so"
    yield "there too a single block names no order of servers that are close."
    yield ""
    for network, browser in dict.fromkeys((c.network, c.browser) for c in columns):
        yield from table([c for c in columns if (c.network, c.browser) == (network, browser)])
    yield from made(capsules)


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
        yield f"{len(visits)} visits, {invalid} of them invalid{reasons} and made again;"
        yield f"{start.browser_version}, {capsule.manifest.study.clock.describe()}:"
        yield ""
        yield f"    {command(start.command)}"
        yield ""
        study = capsule.manifest.study
        cells = observed(study, scan(capsule, "visits"))
        left_out = [f"{c.page} over {c.network}" for c in cells if not c.counted]
        if left_out:
            yield f"No block counts of {', '.join(left_out)}: each had an invalid visit."
            yield ""


if __name__ == "__main__":
    main()
