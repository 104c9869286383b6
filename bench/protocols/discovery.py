"""What it costs to find HTTP/3.

    uv run python bench/protocols/discovery.py FOLDER [--write]

FOLDER has the capsules of docs/results/discovery*.toml, each called like its study. `--write` puts
docs/results/discovery.md and its picture there.
"""

import argparse
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median

import altair as alt
import numpy as np
import polars as pl
from ratios import BASE, beside, kept, ratios

import dragstrip

DOCS = Path(__file__).parents[2] / "docs" / "results"
PAGE, PICTURE = DOCS / "discovery.md", DOCS / "discovery.svg"
NETWORKS = ("DSL", "LTE", "DA2GC", "MSS")
STACKS = ("h2", "h3", "h3-https", "h3-altsvc", "h3-race")
HINDERED = ("open", "UDP blocked", "UDP slow", "IPv6 broken")
STUDIES = (
    "discovery",
    "discovery-repeat",
    "discovery-controls",
    "discovery-hindered",
    "discovery-firefox",
)
DRAWS, SEED = 10_000, 60
FINDINGS = """
- **An HTTPS record gives a first visit all that HTTP/3 can give; Alt-Svc gives it nothing.** Over
  DSL and LTE `h3` loads the pages in 0.85 and 0.84 of h2's time, and `h3-https` in 0.82 and 0.84:
  the record comes with the address. With Alt-Svc alone the first byte comes when h2's does, and the
  page too. On the next visit all four stacks are alike over LTE (0.78 to 0.79).
- **Over DA2GC and MSS no stack is ahead**: with one load a cell, chance of loss is larger than the
  difference, and all intervals reach over 1. 360.cn takes three to four times as long over MSS by
  each way to HTTP/3; why was not looked into.
- **Chromium loses little where HTTP/3 does not pass.** With UDP blocked the first byte comes when
  h2's does. Firefox waits 30 s before it gives up the record's promise, and 30 s if it races while
  IPv6 leads nowhere. Why its h2 is 164 ms later with UDP blocked was not looked into.
- A/A differs by up to 17 % (instagram over LTE), so single cells say little.
- taobao over MSS, and its `h3` over DA2GC, are left out: its scripts ask by timer for what the
  recording lacks, so loads this slow are another page (`replay-miss`, `content-mismatch`).
- First visits and controls were made while the whole Chromium still predicted connections. With and
  without that, first bytes of the last table differ by at most 3 ms.
- 0.9 hours with two guests at once, beside other work.
""".strip()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    made = {
        name: dragstrip.open(asked.folder / name).visits()
        for name in STUDIES
        if (asked.folder / name).exists()
    }
    text = "\n".join(page(made))
    print(text)
    if asked.write:
        PAGE.write_text(f"{text}\n")
        if "discovery" in made:
            draw(kept(made["discovery"]), PICTURE)


def page(made: Mapping[str, pl.DataFrame]) -> Iterator[str]:
    yield "# What it costs to find HTTP/3"
    yield ""
    for name in made:
        yield f"    dragstrip run docs/results/{name}.toml --out capsules/{name}"
    yield "    uv run python bench/protocols/discovery.py capsules --write"
    yield ""
    yield (
        "wolsing2019's networks; the resolver has the servers' round trip. With `h3` the browser "
        "speaks HTTP/3 from the start. With `h3-https` the name's HTTPS record announces HTTP/3, "
        "with `h3-altsvc` an answer over TCP, and with `h3-race` both. Virtual time. Put the "
        "recordings beside the studies."
    )
    yield ""
    yield "| study | loads | valid |"
    yield "|---|---|---|"
    yield from (f"| {name} | {len(v)} | {v['valid'].sum()} |" for name, v in made.items())
    if FINDINGS:
        yield ""
        yield FINDINGS
    for name, words in (("discovery", "First visits"), ("discovery-repeat", "Repeat visits")):
        if name in made:
            yield from views(kept(made[name]), words)
    if "discovery" in made:
        yield ""
        yield "![Page loads by network and recording](discovery.svg)"
    if "discovery-controls" in made:
        yield ""
        yield "## Controls"
        yield ""
        yield (
            "`h2` on two recordings, against its own copy (A/A) and with each connection's first "
            "answer one round trip late. Page load divided by `h2`'s; the first byte in ms later."
        )
        yield ""
        yield from controls(kept(made["discovery-controls"]))
    hindered = {
        browser: kept(made[name])
        for browser, name in (("Chromium", "discovery-hindered"), ("Firefox", "discovery-firefox"))
        if name in made
    }
    if hindered:
        yield ""
        yield "## Where UDP or IPv6 does not work"
        yield ""
        yield (
            "First byte in ms over LTE with a resolver 74 ms away, without computing. Blocked: the "
            "link drops all UDP of the page. Slow: UDP takes 100 ms longer down. IPv6 broken: "
            "names also have an IPv6 address, at which nothing answers."
        )
        yield ""
        yield from fallbacks(hindered)


def views(good: pl.DataFrame, words: str) -> Iterator[str]:
    yield ""
    yield f"## {words}: the first byte"
    yield ""
    yield (
        f"Milliseconds, median over the recordings that `{BASE}` loaded too, and the median of how "
        f"much later than `{BASE}`'s."
    )
    yield ""
    yield from first_bytes(good)
    yield ""
    yield f"## {words}: the page's load"
    yield ""
    yield (
        f"Page load divided by that over `{BASE}` on the same recording: geometric mean, its 95 % "
        "interval (bootstrap over recordings), and on how many of them the stack was faster."
    )
    yield ""
    yield from loads(good)


def networks_of(visits: pl.DataFrame) -> list[str]:
    return [n for n in NETWORKS if n in set(visits["network"])]


def first_bytes(good: pl.DataFrame) -> Iterator[str]:
    networks = networks_of(good)
    yield f"| stack | {' | '.join(networks)} |"
    yield "|---" * (len(networks) + 1) + "|"
    for stack in (s for s in STACKS if s in set(good["stack"])):
        cells = []
        for network in networks:
            both = beside(good.filter(network=network), stack)
            ms = median_of(both, "ttfb_ms")
            gap = median_of(
                both.with_columns(gap=pl.col("ttfb_ms") - pl.col("ttfb_ms_base")), "gap"
            )
            later = "" if stack == BASE or math.isnan(gap) else f" ({round(gap):+d})"
            cells.append("-" if math.isnan(ms) else f"{ms:.0f}{later}")
        yield f"| `{stack}` | {' | '.join(cells)} |"


def loads(good: pl.DataFrame) -> Iterator[str]:
    networks = networks_of(good)
    yield f"| stack | {' | '.join(networks)} |"
    yield "|---" * (len(networks) + 1) + "|"
    for stack in (s for s in STACKS[1:] if s in set(good["stack"])):
        cells = [ratio(good.filter(network=n), stack) for n in networks]
        yield f"| `{stack}` | {' | '.join(cells)} |"


def ratio(mine: pl.DataFrame, stack: str) -> str:
    found = ratios(mine, stack)
    if not found:
        return "-"
    low, high = interval(found)
    faster = sum(r < 1 for r in found)
    return f"{geometric_mean(found):.3f} ({low:.3f} to {high:.3f}), {faster} of {len(found)}"


def interval(found: Sequence[float]) -> tuple[float, float]:
    drawn = np.random.default_rng(SEED).choice(np.log(found), (DRAWS, len(found)))
    low, high = np.exp(np.quantile(drawn.mean(axis=1), (0.025, 0.975)))
    return float(low), float(high)


def median_of(visits: pl.DataFrame, column: str) -> float:
    values = visits[column].drop_nulls().to_list()
    return median(values) if values else math.nan


def controls(good: pl.DataFrame) -> Iterator[str]:
    networks = networks_of(good)
    yield f"| control | {' | '.join(networks)} |"
    yield "|---" * (len(networks) + 1) + "|"
    for control, words in (("control-same", "A/A"), ("control-held", "one round trip late")):
        cells = []
        for network in networks:
            mine = good.filter(network=network)
            both = beside(mine, control)
            later = (both["ttfb_ms"] - both["ttfb_ms_base"]).to_list()
            times = ", ".join(f"{r:.3f}" for r in ratios(mine, control))
            cells.append(f"{times}; " + ", ".join(f"{ms:+.1f}" for ms in later))
        yield f"| {words} | {' | '.join(cells)} |"


def fallbacks(by_browser: Mapping[str, pl.DataFrame]) -> Iterator[str]:
    yield f"| browser | page | stack | {' | '.join(HINDERED)} |"
    yield "|---" * (len(HINDERED) + 3) + "|"
    for browser, visits in by_browser.items():
        for name in sorted(set(visits["page"])):
            for stack in (s for s in STACKS if s in set(visits["stack"])):
                mine = visits.filter(page=name, stack=stack)
                cells = [median_of(mine.filter(network=n), "ttfb_ms") for n in HINDERED]
                shown = ("-" if math.isnan(ms) else f"{ms:,.0f}" for ms in cells)
                yield f"| {browser} | {name} | `{stack}` | {' | '.join(shown)} |"


def draw(good: pl.DataFrame, path: Path) -> None:
    values = [
        {"network": network, "stack": stack, "ratio": r}
        for network in networks_of(good)
        for stack in STACKS[1:]
        for r in ratios(good.filter(network=network), stack)
    ]
    x = alt.X(
        "ratio:Q",
        title=f"page load divided by {BASE}'s",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(values=[0.5, 0.7, 1, 1.4, 2, 3, 4], format="~g"),
    )
    y = alt.Y("stack:N", title=None, sort=list(STACKS), axis=alt.Axis(minExtent=60))
    base = alt.Chart().encode(x=x, y=y)
    dots = base.mark_point(opacity=0.5, size=30, color="#4c78a8")
    middle = alt.Chart().mark_tick(thickness=3, size=16, color="#e45756")
    middle = middle.encode(x=alt.X("median(ratio):Q"), y=y)
    one = alt.Chart().mark_rule(color="#999999").encode(x=alt.datum(1))
    chart = alt.layer(one, dots, middle, data=alt.Data(values=values))
    chart = chart.properties(width=300, height=90)
    faceted = chart.facet(alt.Facet("network:N", title=None, sort=list(NETWORKS)), columns=2)
    faceted.properties(title="A circle is a recording, a red line the median").save(path)


if __name__ == "__main__":
    main()
