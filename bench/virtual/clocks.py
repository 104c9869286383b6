"""Do virtual clocks say the same as real time, where a short queue drops packets?

    uv run python bench/virtual/clocks.py REAL VIRTUAL... [--network NAME] [--page NAME...]

REAL and each VIRTUAL are capsules of one study. Compared are the pages and stacks that have valid
visits in all of them, or those of `--page`. Loads that did not end are slower than all that did. A
pair of stacks on a page counts where real time has them 5 % apart or more. `--write` also draws
docs/reference/virtual-computing.svg.

The first table has one row for each clock. A row for real time compares each of its blocks with the
others, which shows how much is luck. The second compares times, cell by cell. The third has ratios
of two stacks, in the mean over pages. The last say, for each virtual clock, how often it names real
time's winner, by the packets that the queue up dropped there.
"""

import argparse
import math
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations, pairwise
from pathlib import Path
from statistics import median

import altair as alt
import polars as pl

from dragstrip.results.capsule import Capsule
from dragstrip.results.tables.build import refresh, scan
from dragstrip.study.controls import HELD, SAME

EDGES = (0, 1, 10, 20, 30, 50, math.inf)
"""Classes of dropped packets: the median visit's, of the stack that lost more in virtual time."""
FULL = 10
APART = math.log(1.05)
TIMES = {
    "DOM ready": "dcl_ms",
    "first paint": "fcp_ms",
    "page load": "plt_ms",
    "SpeedIndex": "speed_index_ms",
}
PICTURE = Path(__file__).parents[2] / "docs" / "reference" / "virtual-computing.svg"

Medians = dict[tuple[str, str], tuple[float, float]]
"""Page load time in ms, and packets dropped by the queue up, by page and stack."""


def visits(folder: Path, network: str, pages: Collection[str]) -> tuple[str, pl.DataFrame]:
    """The clock of a capsule, and its valid visits."""
    capsule = Capsule.open(folder)
    refresh(capsule)
    ended = pl.when(pl.col("outcome") == "loaded").then("plt_ms").otherwise(math.inf)
    table = (
        scan(capsule, "visits")
        .filter("valid", pl.col("network") == network)
        .filter(~pl.col("stack").is_in([SAME, HELD]))
        .select(
            *("page", "stack", "block", *TIMES.values()),
            plt=ended,
            dropped="link_up_dropped_queue",
        )
        .collect()
    )
    if pages:
        table = table.filter(pl.col("page").is_in(pages))
    return capsule.manifest.study.clock.short, table


def medians(table: pl.DataFrame) -> Medians:
    found = table.group_by("page", "stack").agg(pl.col("plt", "dropped").median())
    return {(page, stack): (plt, dropped) for page, stack, plt, dropped in found.iter_rows()}


def pairs(real: Medians, other: Medians) -> Iterator[tuple[str, str, str, float, float]]:
    """Page, two stacks, and their ratio by each clock, where real time has them apart."""
    for page in sorted({page for page, _ in real}):
        there = sorted(s for p, s in real if p == page and (page, s) in other)
        for a, b in combinations(there, 2):
            theirs = real[page, a][0] / real[page, b][0]
            mine = other[page, a][0] / other[page, b][0]
            if math.isfinite(theirs) and abs(math.log(theirs)) >= APART:
                yield page, a, b, theirs, mine


def distance(one: float, other: float) -> float:
    return abs(math.log(one / other)) if 0 < one < math.inf else math.inf


def beside_itself(table: pl.DataFrame) -> Iterator[tuple[Medians, Medians]]:
    """Yield, for each block, the medians of all other blocks and those of this one."""
    ranked = table.with_columns(rank=pl.col("block").rank("dense").over("page"))
    for rank in ranked["rank"].unique().sort():
        yield (
            medians(ranked.filter(pl.col("rank") != rank)),
            medians(ranked.filter(pl.col("rank") == rank)),
        )


def full(by: Medians, page: str, a: str, b: str) -> bool:
    """Whether the queue up dropped `FULL` packets or more of either stack."""
    return max(by[page, a][1], by[page, b][1]) >= FULL


def row(name: str, compared: Sequence[tuple[Medians, Medians]], by: Medians) -> None:
    """One clock: of how many pairs it names the winner, where the queue up is full and not."""
    same: dict[bool, list[bool]] = {False: [], True: []}
    apart, longer = [], []
    for real, other in compared:
        for page, a, b, theirs, mine in pairs(real, other):
            same[full(by, page, a, b)].append((mine < 1) == (theirs < 1))
            apart.append(distance(mine, theirs))
        longer += [other[k][0] / real[k][0] for k in other.keys() & real.keys()]
    counts = " | ".join(
        f"{sum(s)} of {len(s)} | {sum(s) / max(len(s), 1):.0%}" for s in same.values()
    )
    dropped = [d for _, other in compared for _, d in other.values()]
    print(
        f"| {name} | {counts} | {math.expm1(median(apart)):.0%} | {median(longer):.3f} | "
        f"{sum(dropped) / len(dropped):.1f} |"
    )


def times(tables: dict[str, pl.DataFrame]) -> None:
    """Times by each clock over those in real time: medians over pages and stacks."""
    print(f"\n| clock | {' | '.join(TIMES)} |")
    print("|---|" + "---|" * len(TIMES))
    by_cell = [
        table.group_by("page", "stack").agg(pl.col(*TIMES.values()).median())
        for table in tables.values()
    ]
    for name, other in zip([*tables][1:], by_cell[1:], strict=True):
        both = by_cell[0].join(other, on=["page", "stack"], suffix="_other")
        ratios = both.select((pl.col(f"{m}_other") / pl.col(m)).median() for m in TIMES.values())
        print(f"| {name} | " + " | ".join(f"{ratio:.3f}" for ratio in ratios.row(0)) + " |")


def biases(clocks: dict[str, Medians], by: Medians) -> None:
    """Geometric means over pages of the ratio of two stacks, where the queue up is full and not."""
    print("\n| ratio of page load times | queue up | pages | " + " | ".join(clocks) + " |")
    print("|---|---|---|" + "---|" * len(clocks))
    pages = sorted({page for page, _ in by})
    for a, b in combinations(sorted({stack for _, stack in by}), 2):
        logs: dict[bool, list[list[float]]] = {False: [], True: []}
        for page in (page for page in pages if (page, a) in by and (page, b) in by):
            ratios = [m[page, a][0] / m[page, b][0] for m in clocks.values()]
            if all(0 < ratio < math.inf for ratio in ratios):
                logs[full(by, page, a, b)].append([math.log(ratio) for ratio in ratios])
        for is_full, found in logs.items():
            if found:
                said = f"drops {FULL} or more" if is_full else f"drops less than {FULL}"
                means = [math.exp(sum(column) / len(found)) for column in zip(*found, strict=True)]
                told = " | ".join(f"{mean:.2f}" for mean in means)
                print(f"| {a} / {b} | {said} | {len(found)} | {told} |")


def classes(name: str, real: Medians, other: Medians) -> None:
    print(f"\n| dropped in {name}, median visit | pairs | same winner | ratios apart, median |")
    print("|---|---|---|---|")
    found = [
        (max(other[page, a][1], other[page, b][1]), mine, theirs)
        for page, a, b, theirs, mine in pairs(real, other)
    ]
    for low, high in pairwise(EDGES):
        own = [(mine, theirs) for dropped, mine, theirs in found if low <= dropped < high]
        if own:
            same = sum((mine < 1) == (theirs < 1) for mine, theirs in own)
            apart = median(distance(*one) for one in own)
            said = f"{low:g}" if high - low == 1 else f"{low:g} or more"
            said = said if math.isinf(high) or high - low == 1 else f"{low:g} to {high - 1:g}"
            print(f"| {said} | {len(own)} | {same} | {math.expm1(apart):.0%} |")


def draw(clocks: dict[str, Medians], by: Medians) -> None:
    real, *others = clocks
    points = [
        {
            "clock": name,
            "real": theirs,
            "virtual": mine,
            "pair": f"{a} / {b}, {page}",
            "queue": f"{FULL} or more" if full(by, page, a, b) else "fewer",
        }
        for name in others
        for page, a, b, theirs, mine in pairs(clocks[real], clocks[name])
        if 0 < mine < math.inf
    ]
    ends = [0.3, 3.3]
    same = [{"clock": name, "real": end, "virtual": end} for name in others for end in ends]
    scale = alt.Scale(type="log", domain=ends, clamp=True)
    axis = alt.Axis(values=[0.3, 0.5, 0.7, 1, 1.4, 2, 3])
    x = alt.X("real:Q", scale=scale, axis=axis, title="two stacks' ratio, real time")
    y = alt.Y("virtual:Q", scale=scale, axis=axis, title="the same ratio")
    colour = alt.Color("queue:N", scale=alt.Scale(range=["#c2410c", "#0369a1"]), title="dropped")
    only = alt.FieldEqualPredicate(field="queue", equal="")
    base = alt.Chart(alt.Data(values=points + [one | {"queue": ""} for one in same]))
    dots = base.transform_filter(~only).mark_circle(size=28, opacity=0.6).encode(x, y, colour)
    line = base.transform_filter(only).mark_line(color="#888", strokeDash=[4, 4]).encode(x, y)
    chart = alt.layer(line, dots).properties(width=300, height=300)
    faceted = chart.facet(column=alt.Column("clock:N", sort=others, title=None))
    faceted.configure(background="white").configure_legend(labelLimit=200).save(PICTURE)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("real", type=Path)
    parser.add_argument("virtual", type=Path, nargs="+")
    parser.add_argument("--network", default="DSL")
    parser.add_argument("--page", action="append", default=[])
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    tables = dict(visits(f, asked.network, asked.page) for f in (asked.real, *asked.virtual))
    shared = set.intersection(*({*t.select("page", "stack").iter_rows()} for t in tables.values()))
    there = pl.DataFrame([*shared], schema=["page", "stack"], orient="row")
    tables = {name: t.join(there, on=["page", "stack"], how="semi") for name, t in tables.items()}
    clocks = {name: medians(table) for name, table in tables.items()}
    first, *others = clocks
    by = clocks[first]
    print(f"{len({page for page, _ in shared})} pages, {len(shared)} pages and stacks\n")
    print(
        f"| clock | same winner, dropped less than {FULL} | | {FULL} or more | "
        "| ratios apart, median | load time / real time's, median | dropped by the queue up, mean |"
    )
    print("|---|---|---|---|---|---|---|---|")
    row("real time, one block beside the others", [*beside_itself(tables[first])], by)
    for name in others:
        row(name, [(by, clocks[name])], by)
    times(tables)
    biases(clocks, by)
    for name in others:
        classes(name, by, clocks[name])
    if asked.write:
        draw(clocks, by)


if __name__ == "__main__":
    main()
