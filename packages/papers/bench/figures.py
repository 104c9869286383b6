"""docs/results/figures.md: figures of papers, published and as measured here.

    uv run python packages/papers/bench/figures.py

Ours are drawn from the loads in docs/results/loads and the answers in docs/results/papers.json,
theirs from what was read off their figures (`dragstrip_papers.digitised`) and from the claims.
"""

from collections.abc import Sequence
from pathlib import Path

import msgspec
import numpy as np
import vl_convert
from figures_dots import dots
from scipy.stats import spearmanr

from dragstrip.model.stack import Stack
from dragstrip.study.loader_error import predicted
from dragstrip_papers.claims import published
from dragstrip_papers.digitised import digitised
from dragstrip_papers.kept import read
from dragstrip_papers.overall.rows import Row as Answered
from dragstrip_papers.report.published import HERE, PUBLISHED, heat_maps, load_times
from dragstrip_papers.report.style import Figure, Row

RESULTS = Path(__file__).parents[3] / "docs" / "results"


def main() -> None:
    megyesi = read(RESULTS / "loads" / "megyesi2016-loader.parquet").evidence.loads
    curves = load_times(megyesi, digitised("megyesi2016"), stacks("megyesi2016"))
    kakhki = read(RESULTS / "loads" / "literature-heatmaps.parquet").evidence.loads
    h2, quic = stacks("literature", "h2-full", "QUIC")
    tiles = heat_maps(kakhki, digitised("literature"), h2, quic, "plt_ms")
    assert curves
    assert tiles
    claims = msgspec.json.decode((RESULTS / "papers.json").read_bytes(), type=list[Answered])
    for drawn in (curves, tiles, *(found := [gains(claims), round_trips(claims), shares(claims)])):
        (RESULTS / f"{drawn.name}.svg").write_text(vl_convert.vegalite_to_svg(drawn.spec))
    (RESULTS / "figures.md").write_text(page(curves, tiles, *found))


def gains(claims: Sequence[Answered]) -> Figure:
    return dots(
        [claim for claim in claims if " in the mean over the sites." in claim.says],
        "published-gains",
        "Mean gains over the sites, published and here",
        "gain: share of the reference's time, negative is faster",
        (-0.8, 0.4),
        (r" gains on (\S+) in the mean over the sites\.", r" on \1"),
    )


def round_trips(claims: Sequence[Answered]) -> Figure:
    return dots(
        [claim for claim in claims if "one round trip taken off." in claim.says],
        "published-round-trips",
        "What is left without the round trip, published and here",
        "difference in round trips, negative is faster",
        (-6, 3),
        (r", one round trip taken off\.", ""),
    )


def shares(claims: Sequence[Answered]) -> Figure:
    return dots(
        [claim for claim in claims if claim.paper == "biswal2016"],
        "published-shares",
        "Cells that QUIC wins, published and here",
        "share of cells in which QUIC is faster",
        (0.5, 1),
        (r"\.$", ""),
    )


def stacks(key: str, *names: str) -> list[Stack]:
    paper = published(key)
    found = paper.stacks(paper.specs())
    return [found[name] for name in names or found]


def page(curves: Figure, tiles: Figure, mean: Figure, trips: Figure, won: Figure) -> str:
    return f"""# Figures of the papers, published and here

For megyesi2016 and kakhki2017, published values are read from the papers' figures, and ours come
from the load generator in virtual time, with today's protocols. {predicted()}

## wolsing2019, mean gains in SpeedIndex, first visual change and page load time

![Mean gains over the sites, published and here]({mean.name}.svg)

{mean.caption} Published are means over 38 sites. Ours are of 38 chosen stand-ins in real time
over DSL and in virtual time, and of six and eight pages otherwise ([every claim](papers.md)). Over
DA2GC many of today's loads over QUIC never end, which takes their means off the axis.

## wolsing2019, table 3

![What is left without the round trip, published and here]({trips.name}.svg)

{trips.caption} QUIC less tuned TCP, after the round trip of its shorter handshake is taken off.

## biswal2016, cells that QUIC wins

![Cells that QUIC wins, published and here]({won.name}.svg)

{won.caption} Against HTTP/2 over TLS 1.2 with a full handshake.

## megyesi2016, figures 4 and 5 of its ICC paper

![Distributions of page load times, published and here]({curves.name}.svg)

{curves.caption} Here: forty loads of each, of repeat visits
([claims](megyesi2016-loader.md)). `TCP-TLS1.2` is HTTP/2 and stands for SPDY. Google Sites served
the paper's pages, from several hosts; ours come from one, at once. So ours are faster, and only the
order of the curves can be compared.

{medians(curves.rows)}

## kakhki2017, figures 6 and 8

![Percent by which QUIC is faster than HTTP/2, published and here]({tiles.name}.svg)

{tiles.caption} Here: ten loads of each, forty with loss or reordering
([claims](literature-heatmaps.md)).

**What holds:** QUIC's lead on single objects without loss, nearly tile by tile up to 1 MB, and its
slowness where packets overtake each other, which is greater here. **What does not:** Google's QUIC
of 2016, version 34, was slow on 100 and 200 small objects, and far ahead with 1 % loss where a page
has 1 MB or more. Neither can be seen today.

{agreement(tiles.rows)}

## Made with

The first command is in [the claims of megyesi2016](megyesi2016-loader.md), the next two in [those
of kakhki2017](literature-heatmaps.md). Then:

    uv run python packages/papers/bench/figures.py
"""


def medians(rows: Sequence[Row]) -> str:
    """A table of the medians of each panel's curves, in seconds."""
    names = list(dict.fromkeys(row["stack"] for row in rows))
    lines = [
        f"| median, s | {' | '.join(f'{n}, published | here' for n in names)} |",
        "|---" * (1 + 2 * len(names)) + "|",
    ]
    for panel in dict.fromkeys(row["panel"] for row in rows):
        mine = [row for row in rows if row["panel"] == panel]
        middles = [
            f"{half([r for r in mine if r['stack'] == name and r['who'] == who]):.2f}"
            for name in names
            for who in (PUBLISHED, HERE)
        ]
        lines.append(f"| {panel} | {' | '.join(middles)} |")
    return "\n".join(lines)


def half(curve: Sequence[Row]) -> float:
    """Where a curve reaches a half."""
    return next(row["seconds"] for row in curve if row["share"] >= 0.5)


def agreement(rows: Sequence[Row]) -> str:
    """How many tiles name the same winner, by figure."""
    lines = [
        "| figure | tiles | alike | QUIC faster, published | here | slower, published | here "
        "| points apart, median |",
        "|---|---|---|---|---|---|---|---|",
    ]
    figures = list(dict.fromkeys(row["panel"].partition(":")[0] for row in rows))
    for name in [*figures, ""]:
        theirs, ours = (
            np.array([row["percent"] or 0.0 for row in rows if fits(row, name, who)])
            for who in (PUBLISHED, HERE)
        )
        same = int((np.sign(theirs) == np.sign(ours)).sum())
        sides = " | ".join(f"{(theirs * s > 0).sum()} | {(ours * s > 0).sum()}" for s in (1, -1))
        apart = np.median(np.abs(theirs - np.maximum(ours, -100)))
        lines.append(f"| {name or 'all'} | {len(ours)} | {same} | {sides} | {apart:.0f} |")
    rank = spearmanr(theirs, ours).statistic
    return "\n".join(
        [
            *lines,
            "",
            "Alike: both faster, both slower or both blank. A blank tile counts as 0 points, one "
            f"below -100 as -100. Spearman's rank correlation of all tiles is {rank:.2f}.",
        ]
    )


def fits(row: Row, name: str, who: str) -> bool:
    return row["panel"].endswith(f": {who}") and row["panel"].startswith(name)


if __name__ == "__main__":
    main()
