"""The words of docs/results/map.md."""

from collections.abc import Sequence

import polars as pl
from factor_map_tables import corner, deciding, winners
from msgspec import Struct

from dragstrip.study.sample import Sample
from dragstrip_papers.map.survey import SHORT_QUEUE, Map, NearestStanding, PairAgreement
from dragstrip_papers.stats.prediction import Errors

SPOTS = 400
"""Number of cells that are drawn and made again."""


class Spotted(Struct, frozen=True, kw_only=True):
    pairs: dict[str, PairAgreement]
    times: Errors | None
    """Errors of the page load times, all stacks together."""
    short: Errors | None
    """Errors for stacks over QUIC where the queue is short."""
    longer: Errors | None
    """Errors for stacks over QUIC where the queue is longer."""


class MadeAgain(Struct, frozen=True):
    """Cells drawn from the map and made again by today's dragstrip. Each is None if not made."""

    spotted: Spotted | None
    """The map against Chromium."""
    alone: Spotted | None
    """The map against the load generator, each cell in a separate guest."""
    predicted: Spotted | None
    """The load generator of today against Chromium."""


def page_text(
    cells: pl.DataFrame, sample: Sample, found: Map, made_again: MadeAgain, caption: str
) -> str:
    """`caption` is that of both pictures."""
    return f"""# A factor map of the web: h2 or h3?

{_made_so_far(cells, sample.cells)} [Ask it about your network and page](../map/index.md).

Each cell is one block: h2, h3, h2+ and h3+ with the same losses, by the
[load generator](../reference/loader.md) in [virtual time](../explanation/virtual-time.md), where
computing takes no time. So these are predictions, of network and protocol alone.

| factor | from | to | |
|---|---|---|---|
{_ranges(sample)}

Pages are pictures of equal size on one host, all named by the document. The rate up is
{sample.up_share:.0%} of that down. {sample.lossless:.0%} of the cells are without loss.

## Who wins

h3 or h2 wins a cell if it loads more than 2 % faster; otherwise neither does. Stock stacks begin
with 10 packets; tuned ones (+) with 32, and are paced. Cells whose queue holds fewer than
{SHORT_QUEUE} packets are [less sure](#chromium-on-the-same-cells).

{winners(cells)}

![h3 against h2 by rate, round trip and loss](map-network.svg)

![h3 against h2 by page weight, objects and loss](map-page.svg)

{caption}{_checked(made_again)}

## What decides

One property of the cells at a time, the others as they come. A transfer is the page's weight over
the rate down. Columns are shares of cells, and the median of h3 / h2.

{deciding(cells)}

## Small objects on slow links

{corner(cells)}

Both compress headers that repeat, with tables of 4096 bytes
([0041](../decisions/0041-header-table.md)). A first map, of 355 cells, was made before h3 had that
table: h2 won this corner, and h3 took 39 % longer there.

## Chromium on the same cells

{_spots(made_again)}

## How sure the map is

The answer for a place between cells is the vote of the 25 nearest ones. Distances are shares of
each factor's logarithmic range, times a weight: {_weights(found)}. Weights
from 0.25 to 2 were chosen on every second cell, by the logarithmic score of cells left out of
their own vote. The other half says how often the vote is right:

{_trust(found.standing)}

Part of the error is chance: with loss, one block is a single random draw.

## Made with

    cd packages/papers/bench
    uv run python factor_map.py make CELLS      # continues where it stopped
    uv run python factor_map.py add CELLS
    uv run python factor_map.py spot SPOTS      # some cells in Chromium
    uv run python factor_map.py alone ALONE     # some cells, each in its own guest
    uv run python factor_map.py write

The study is [map.toml](map.toml). Every cell is in [map.parquet](map.parquet), with the columns
{_columns(cells)}. [map-browser.parquet](map-browser.parquet) has
the cells of `spot`, and [map-loader.parquet](map-loader.parquet) those of `alone`.
[How cells are drawn, and why many share a guest](../decisions/0040-sampled-cells.md).
"""


def _made_so_far(cells: pl.DataFrame, planned: int) -> str:
    said = f"""**{len(cells):,} of {planned:,} planned cells are made.** A cell is one synthetic
page over one network, drawn from ranges by a Sobol sequence."""
    last = cells["number"].max()
    if last != planned - 1:
        return f"""{said} Any first part of it covers the ranges evenly, so these cells are a
coarser map of the whole, not a corner of it."""
    lost = planned - len(cells)
    return f"{said} In {lost} more a visit was invalid." if lost else said


def _ranges(sample: Sample) -> str:
    rows = (
        ("rate down", *sample.down_mbps, "Mbit/s"),
        ("round trip", *sample.rtt_ms, "ms"),
        ("loss, where there is any", *(100 * x for x in sample.loss), "% of packets each way"),
        ("queue", *sample.queue_ms, "ms"),
        ("page weight", *(x / 1000 for x in sample.page_bytes), "kB"),
        ("objects", *sample.objects, ""),
    )
    return "\n".join(f"| {name} | {low:g} | {high:g} | {unit} |" for name, low, high, unit in rows)


def _checked(again: MadeAgain) -> str:
    if again.spotted is None:
        return ""
    said = f" Chromium gives the same answer on {_same(again.spotted)} cells drawn at random"
    if again.alone is None:
        return f"{said}."
    return f"""{said},
and [today's load generator](#the-same-cells-by-todays-load-generator) on {_same(again.alone)}."""


def _same(spotted: Spotted) -> str:
    return " and ".join(
        f"{one.whole.same} of {one.whole.cells} ({name})" for name, one in spotted.pairs.items()
    )


def _spots(again: MadeAgain) -> str:
    if again.spotted is None:
        return f"Not made yet: `spot` visits {SPOTS} cells, drawn at random, with Chromium."
    spotted = again.spotted
    return f"""{_made(spotted)} of {SPOTS} cells, drawn at random with a fixed seed, were
visited by Chromium in virtual time. Where the map disagrees, Chromium is right.

{_table(spotted)}

The map's page load times are {_errors(spotted.times)}.

**The map is less sure where the queue holds fewer than {SHORT_QUEUE} packets.** There its
page load times over QUIC are {_errors(spotted.short)}. With longer queues they are
{_errors(spotted.longer)}. The queue up is a quarter as large, and holds less than one full datagram
there: half of each ClientHello is dropped, and every dropped packet counts.
{_today(again)}"""


def _today(again: MadeAgain) -> str:
    if again.alone is None or again.predicted is None:
        return ""
    return f"""
### The same cells by today's load generator

The load generator made the same cells again, each in a separate guest. In the map 32 cells share
one. Its answers differ where dragstrip [has changed](campaigns.md#errors-in-older-pages) since the
map was made, and where a load depends on its keys and ports.

{_table(again.alone)}

The map's page load times are {_errors(again.alone.times)}.

Today's load generator predicts today's Chromium like this:

{_table(again.predicted)}

Its page load times are {_errors(again.predicted.times)}."""


def _made(spotted: Spotted) -> int:
    return max(one.whole.cells for one in spotted.pairs.values())


def _table(spotted: Spotted) -> str:
    head = "| | cells | same answer | opposite winners | rank correlation of the ratios |"
    lines = [
        f"| {name} | {one.cells} | {one.same / one.cells:.0%} ({one.same}) | {one.opposite} | "
        f"{'-' if one.rank is None else f'{one.rank:.2f}'} |"
        for pair, checked in spotted.pairs.items()
        for name, one in (
            (pair, checked.whole),
            (f"{pair}, queue below {SHORT_QUEUE} packets", checked.short),
            (f"{pair}, longer queues", checked.longer),
        )
        if one is not None
    ]
    return "\n".join([head, "|---|---|---|---|---|", *lines])


def _errors(times: Errors | None) -> str:
    if times is None:
        return "not known"
    return (
        f"{times.mean_absolute:.2%} off in the mean, {times.median_absolute:.2%} in the median and "
        f"{times.largest:.1%} at most, with a bias of {times.bias:+.2%} ({times.cells} loads)"
    )


def _weights(found: Map) -> str:
    names = ("rate", "round trip", "loss", "queue", "weight", "objects")
    return ", ".join(f"{n} {w:g}" for n, w in zip(names, found.weights, strict=True))


def _trust(standing: dict[str, NearestStanding]) -> str:
    lines = ["| | leading answer's share | cells | right |", "|---|---|---|---|"]
    for name, one in standing.items():
        lows: Sequence[float] = [t.low for t in one.trust] + [1.0]
        for group, high in zip(one.trust, lows[1:], strict=True):
            lines.append(
                f"| {name} | {group.low:.0%} to {high:.0%} | {group.cells} | {group.right:.0%} |"
            )
        lines.append(f"| {name} | all | {sum(t.cells for t in one.trust)} | {one.right:.0%} |")
    return "\n".join(lines)


def _columns(cells: pl.DataFrame) -> str:
    return ", ".join(f"`{name}`" for name in cells.columns)
